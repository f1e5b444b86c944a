"""A sample of the catalog, part by part, by whoever computes; parts that are there are not answered again."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assay.binary import Binary
from assay.error import BAD_JOB, AssayError
from assay.executor.work import WorkExecutor
from assay.explore import part
from assay.explore.grid import Grid
from assay.results.files import ResultError, make_folder, read_json, write_json
from assay.results.store.query import EXPLORED
from assay.untyped import Json

VERSION = 1
PART = 20_000
"""Points of a part: enough that starting a process for it costs little of it, few enough for its memory."""
_EACH = 8
"""Parts that each worker of an executor answers at least: with few, one waits at the end for the other's last."""
_TOLD_S = 10.0


@dataclass(frozen=True)
class Exploration:
    """How many points, and where they go."""

    points: int
    directory: Path
    twins: tuple[str, ...] = ()


def run(order: Exploration, executor: WorkExecutor, tell: Callable[[str], None]) -> Json:
    """Answers what is missing, and says what it cost.

    Raises:
        AssayError: where more is asked than there is, or the folder holds another sample.
    """
    # Here, where a package that is missing is brought; other processes only import it.
    import pyarrow as pa  # noqa: F401

    grid = Grid(order.twins) if order.twins else Grid.of_catalog()
    if not 1 <= order.points <= grid.size:
        raise AssayError(f"--points {order.points}: there are {grid.size}", hint="ask for 1 to that", code=BAD_JOB)
    document = _begun(order, grid)
    size = max(1, min(PART, -(-order.points // (executor.size * _EACH))))
    size = int(document.setdefault("part", size))
    write_json(order.directory / EXPLORED, document)
    count = -(-order.points // size)
    missing = [number for number in range(count) if not part.file(order.directory, number).is_file()]
    if len(missing) < count:
        tell(f"{count - len(missing)} of {count} parts are there already")
    begun = time.monotonic()
    asked: Json = {"twins": list(grid.twins), "count": order.points, "size": size}
    progress = _Progress(order.directory, missing, tell)
    done = executor.do(part.answered, [asked | {"number": number} for number in missing], progress.heard)
    return _summary(order, document, executor.size, done, time.monotonic() - begun)


def _begun(order: Exploration, grid: Grid) -> Json:
    """What is asked, as explore.json has it; the same as before where the folder was begun."""
    program = hashlib.sha256(Binary.find().path.read_bytes()).hexdigest()
    catalog = hashlib.sha256(json.dumps(grid.twins).encode()).hexdigest()
    asked: Json = {"version": VERSION, "points": order.points, "grid": grid.size, "twins": len(grid.twins)}
    asked |= {"catalog": catalog, "program": program, "provenance": "modelled"}
    path = order.directory / EXPLORED
    if not path.is_file():
        make_folder(order.directory)
        make_folder(order.directory / "points")
        return asked
    before: Json = read_json(path)
    if differing := [key for key, value in asked.items() if before.get(key) != value]:
        message = f"{order.directory} holds another sample: {', '.join(differing)} differ"
        raise ResultError(message, hint="choose another folder with --out", code=BAD_JOB)
    return before


@dataclass
class _Progress:
    """Keeps every part as soon as it is answered, and says every some seconds how far it is."""

    directory: Path
    numbers: Sequence[int]
    tell: Callable[[str], None]
    points: int = 0
    said: float = field(default_factory=time.monotonic)

    def heard(self, place: int, found: Json) -> None:
        """A part is answered."""
        part.keep(self.directory, self.numbers[place], found)
        self.points += found["points"]
        if time.monotonic() - self.said > _TOLD_S:
            self.said = time.monotonic()
            self.tell(f"{self.points} points")


def _summary(order: Exploration, document: Json, workers: int, done: list[Json], wall_s: float) -> Json:
    """What was done now. Efficiency: the time that the same parts take one process a core, over the time they took."""
    points = sum(one["points"] for one in done)
    found: Json = {"directory": str(order.directory), "points": points, "refused": sum(one["refused"] for one in done)}
    found |= {"of": document["points"], "grid": document["grid"], "workers": workers, "wall_s": wall_s}
    if points:
        found["efficiency"] = sum(one["seconds"] for one in done) / workers / wall_s
        found["start_cpu_s"] = sum(one["start_cpu_s"] for one in done)
        found["cpu_us_per_point"] = 1e6 * sum(one["cpu_s"] for one in done) / points
        found["points_per_s"] = points / wall_s
    return found
