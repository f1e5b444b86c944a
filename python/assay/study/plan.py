"""The plan: which cells in which order, how long, what is written, how much room it takes."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from assay.binary import Binary
from assay.document import limits
from assay.error import BAD_JOB, AssayError
from assay.results.files import ResultError, read_json
from assay.study import consent
from assay.study.cell import Cell, Refusal
from assay.study.work import declared, runners, written

VERSION = 1


Order = Callable[[Sequence[Cell], int], list[Cell]]
"""Puts cells in the order in which they run, and numbers them; the second argument is the seed."""

# Taken for granted before anything was measured; the time left is corrected while the run goes on.
PREPARE_BYTES_PER_S = 300e6
CELL_OVERHEAD_S = 0.7
# What a cell takes in virtual time.
TWIN_CELL_S = 2.0
UNKNOWN_WRITE_BYTES_PER_S = 2e9
# Of work: loading its data, and in virtual time all of it.
WORK_LOAD_S = 10.0
TWIN_WORK_S = 10.0


@dataclass(frozen=True)
class Plan:
    """Cells in the order in which they run, and what they cost together."""

    cells: list[Cell]
    seed: int
    created_at: str
    bytes_needed: dict[str, int] = field(default_factory=dict)
    drive_writes: dict[str, float] = field(default_factory=dict)
    destroys: list[str] = field(default_factory=list)
    """Devices whose content may be destroyed."""

    @property
    def seconds(self) -> float:
        """Expected time in all."""
        return sum(cell.seconds for cell in self.cells)

    @property
    def bytes_written(self) -> int:
        """Bytes written at most, preparation included."""
        return sum(cell.bytes_written for cell in self.cells)

    @property
    def refused(self) -> list[Cell]:
        """Cells that cannot be measured here."""
        return [cell for cell in self.cells if cell.refusal]

    def document(self) -> dict[str, Any]:
        """As it stands in plan.json and as `--dry-run --json` prints it: cells as declared, `order` says when."""
        return {
            "version": VERSION,
            "seed": self.seed,
            "created_at": self.created_at,
            "totals": {
                "cells": len(self.cells),
                "refused": len(self.refused),
                "seconds": round(self.seconds, 1),
                "bytes_written": self.bytes_written,
                "bytes_needed": self.bytes_needed,
                "drive_writes": self.drive_writes,
            },
            # Named so that who goes on is asked again; leave to destroy them stands in no file.
            "destroys": self.destroys,
            "cells": [_told(cell) for cell in self.in_file_order],
        }

    @property
    def in_file_order(self) -> list[Cell]:
        """Cells as they were declared."""
        return sorted(self.cells, key=lambda cell: cell.id)


def load(path: Path) -> Plan:
    """A plan that was written earlier."""
    document = read_json(path)
    try:
        if document["version"] != VERSION:
            message = f"{path} has version {document['version']}, this program reads version {VERSION}"
            raise ResultError(message, hint="continue it with the assay that began it")
        declared = [Cell.from_document(entry) for entry in document["cells"]]
        # A plan of an earlier version, or of somebody else's making, may say that devices may be destroyed.
        named = [*map(str, document.get("destroys", ())), *consent.destroyed(declared)]
        cells = sorted((replace(cell, job=consent.without(cell.job)) for cell in declared), key=lambda cell: cell.order)
        totals, destroys = document["totals"], list(dict.fromkeys(named))
        return Plan(
            cells, document["seed"], document["created_at"], totals["bytes_needed"], totals["drive_writes"], destroys
        )
    except (KeyError, TypeError) as error:
        raise ResultError(f"{path} is no plan: {error} is missing", hint="start anew in another folder") from error


def make(cells: Iterable[Cell], seed: int, binary: Binary | None, order: Order | None = None) -> Plan:
    """Asks the measuring program about every cell, puts them in order and adds up. Nothing is touched."""
    asked = _asked(list(cells), binary)
    costed = _with_preparation((order or in_order)(asked, seed))
    needed = bytes_needed(costed)
    created_at = datetime.now(UTC).isoformat(timespec="seconds")
    destroys = consent.destroyed(sorted(costed, key=lambda cell: cell.id))
    plan = Plan(costed, seed, created_at, needed, _drive_writes(costed), destroys)
    limits.cells(len(costed), "the plan")
    limits.seconds(plan.seconds, "the plan")
    return plan


def _told(cell: Cell) -> dict[str, Any]:
    return replace(cell, job=consent.without(cell.job)).document()


def in_order(cells: Sequence[Cell], seed: int) -> list[Cell]:
    """Random order, repeats interleaved: every cell runs once before any runs again. Cells that are to be beside each
    other stay so, in an order of their own."""
    ordered: list[Cell] = []
    for repeat in sorted({cell.repeat for cell in cells}):
        chance = random.Random(f"{seed}:{repeat}")  # noqa: S311  An order that can be repeated is wanted.
        groups: dict[str, list[Cell]] = {}
        for cell in (one for one in cells if one.repeat == repeat):
            groups.setdefault(cell.job.get("beside", cell.id), []).append(cell)
        chunk = list(groups.values())
        chance.shuffle(chunk)
        ordered += [cell for group in chunk for cell in (chance.sample(group, len(group)) if group[1:] else group)]
    return [replace(cell, order=place) for place, cell in enumerate(ordered)]


def bytes_needed(cells: Iterable[Cell]) -> dict[str, int]:
    """Bytes of data that lie there together, by place: cells share what has the same name."""
    largest: dict[tuple[str, str, int], int] = {}
    for cell in cells:
        if cell.refusal is None:
            for key, size in cell.files.items():
                largest[key] = max(size, largest.get(key, 0))
    places: dict[str, int] = {}
    for (place, _, _), size in largest.items():
        places[place] = places.get(place, 0) + size
    return places


def _asked(cells: list[Cell], binary: Binary | None) -> list[Cell]:
    """Every cell with what the measuring program says of it; repeats are asked for once."""
    answers: dict[str, dict[str, Any] | None] = {}
    found = []
    for cell in cells:
        if cell.group not in answers:
            answers[cell.group] = _answer(cell, binary) if cell.refusal is None else None
        found.append(_answered(cell, answers[cell.group]))
    return found


def _answer(cell: Cell, binary: Binary | None) -> dict[str, Any] | None:
    if binary is None or cell.program:
        return None
    try:
        answer: dict[str, Any] = binary.document("plan", "-", given=cell.job, accepted=(0, 4))
    except AssayError as error:
        if error.code != BAD_JOB:
            raise
        raise AssayError(f"cell `{cell.job['name']}`: {error.message}", hint=error.hint, code=BAD_JOB) from error
    return answer


def _answered(cell: Cell, answer: dict[str, Any] | None) -> Cell:
    if cell.refusal is not None:
        return replace(cell, seconds=0.0, bytes_written=0)
    if cell.program:
        return _work(cell)
    window = _window_s(cell.job)
    if answer is None:
        return replace(cell, seconds=window + CELL_OVERHEAD_S, bytes_written=assumed_bytes_written(cell.job))
    refusals = answer.get("refusals") or []
    refusal = Refusal(str(refusals[0]["reason"]), str(refusals[0]["fix"])) if refusals else None
    if refusal:
        return replace(cell, refusal=refusal, estimate="assayer")
    known = answer.get("bytes_written_at_most")
    written = assumed_bytes_written(cell.job) if known is None else int(known)
    source = "assumed" if known is None else "assayer"
    return replace(cell, seconds=window + CELL_OVERHEAD_S, bytes_written=written, estimate=source)


def _work(cell: Cell) -> Cell:
    """What work costs: its program cannot say before it has loaded its data."""
    if cell.driven:
        cost = runners.runner(cell.program[0]).cost(cell.job)
        return replace(cell, seconds=cost.seconds, bytes_written=cost.bytes_written)
    if not declared.members(cell.job):
        return replace(cell, seconds=TWIN_WORK_S)
    window = declared.window_s(cell.job)
    seconds, bound = window + WORK_LOAD_S, int((window + WORK_LOAD_S) * written.BYTES_PER_S)
    if cell.program[0] == "index":
        bound = written.at_most(cell.job, WORK_LOAD_S, window)
    return replace(cell, seconds=seconds, bytes_written=bound)


def _window_s(job: dict[str, Any]) -> float:
    """Seconds of rest, warm-up and window; virtual time is short, however long the window."""
    if any(target["kind"] == "twin" for target in job["targets"]):
        return TWIN_CELL_S
    return float(job["window"]["warmup_s"] + job["window"]["measure_s"] + job.get("cool_down_s", 0))


def assumed_bytes_written(job: dict[str, Any]) -> int:
    """Bytes that the classes of a job write at most, where the measuring program is not asked."""
    seconds = job["window"]["warmup_s"] + job["window"]["measure_s"]
    limit = job["window"]["bytes_at_most"] or float("inf")
    stored = {target["id"] for target in job["targets"] if target["kind"] not in ("memory", "null", "twin")}
    datasets = {dataset["name"] for dataset in job["datasets"] if dataset["target"] in stored}
    writers = (entry for entry in job["classes"] if entry["dataset"] in datasets)
    return int(sum(min(limit, _class_bytes(entry, seconds)) for entry in writers))


def _class_bytes(entry: dict[str, Any], seconds: float) -> float:
    operation = entry["operation"]
    share = {"read": 0.0, "write": 1.0}.get(operation["kind"], float(operation.get("write_percent", 0)) / 100)
    arrivals = entry["arrivals"]
    if arrivals["kind"] == "closed":
        return share * UNKNOWN_WRITE_BYTES_PER_S * seconds
    size = entry["size"] if isinstance(entry["size"], int) else max(part["bytes"] for part in entry["size"])
    times = entry["threads"] if arrivals["scope"] == "thread" else 1
    return float(share * arrivals["rate_per_s"] * times * size * seconds)


def _with_preparation(cells: list[Cell]) -> list[Cell]:
    """Adds to each cell the data that it is the first to need."""
    there: dict[tuple[str, str, int], tuple[str, int]] = {}
    found = []
    for cell in cells:
        missing = _prepare(cell, there) if cell.refusal is None else 0
        seconds = cell.seconds + missing / PREPARE_BYTES_PER_S
        found.append(replace(cell, seconds=seconds, bytes_written=cell.bytes_written + missing))
    return found


def _prepare(cell: Cell, there: dict[tuple[str, str, int], tuple[str, int]]) -> int:
    if cell.driven:
        return 0  # What it loads is in its own estimate.
    layouts = {dataset["name"]: dataset["layout"] for dataset in cell.job.get("datasets", ())}
    missing = 0
    for key, size in cell.files.items():
        layout = layouts[key[1]]
        before, prepared = there.get(key, ("", 0))
        if layout == "written":
            missing += max(0, size - prepared) if before == "written" else size
        there[key] = (layout, max(size, prepared) if before == layout else size)
    return missing


def _drive_writes(cells: Iterable[Cell]) -> dict[str, float]:
    """Wear: how many times over each drive is written at most. A cell on several targets counts for each in full."""
    written: dict[str, int] = {}
    for cell in cells:
        for device in {found for member in _members(cell) if (found := _drive(Path(member))) is not None}:
            written[str(device)] = written.get(str(device), 0) + cell.bytes_written
    return {Path(device).name: total / _sectors(Path(device)) / 512 for device, total in sorted(written.items())}


def _members(cell: Cell) -> set[str]:
    if cell.driven:
        return set(runners.runner(cell.program[0]).members(cell.job))
    if cell.program:
        return set(declared.members(cell.job))
    return {member for target in cell.job["targets"] for member in target["members"]}


def _drive(path: Path) -> Path | None:
    """The whole drive beneath a path, in /sys; none where there is none (tmpfs)."""
    try:
        facts = path.stat()
    except OSError:
        return None
    number = facts.st_rdev if path.is_block_device() else facts.st_dev
    entry = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if not entry.exists():
        return None
    drive = entry.resolve()
    drive = drive.parent if (drive / "partition").exists() else drive
    return drive if _sectors(drive) > 0 else None


def _sectors(drive: Path) -> int:
    try:
        return int((drive / "size").read_text())
    except (OSError, ValueError):
        return 0
