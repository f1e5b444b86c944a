"""A part of a sample: its points are asked of one process, and lie in one Parquet file when they are all answered."""

from __future__ import annotations

import base64
import io
import os
import resource
import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from assay.binary import Binary
from assay.explore.grid import Grid, GridBlock
from assay.target import catalog, names
from assay.target.host import HostWish
from assay.twin.predict import Point, stream
from assay.untyped import Json

FIGURES = ("bandwidth_bytes_per_s", "ops_per_s", "mean_ns", "cycles_per_op")
TAILS = ("p50", "p99", "p999")


def file(directory: Path, number: int) -> Path:
    """Where a part lies."""
    return directory / "points" / f"part-{number:06d}.parquet"


def answered(order: Json) -> Json:
    """Answers a part: its Parquet file, the seconds and CPU seconds that it took, points, and how many were refused.

    `order` has the sample's `twins` and `count`, the part's `number`, and the `size` of parts. `start_cpu_s` is what
    this process took before its first part can be asked: libraries and catalog are read once.
    """
    twins = tuple(order["twins"])
    start_cpu_s = _start(twins)
    begun, before = time.monotonic(), _cpu_s()
    count, size, begin = order["count"], order["size"], order["number"] * order["size"]
    asked = list(_grid(twins).sample(count, begin, min(begin + size, count)))
    rows = _rows(asked, _ask(asked))
    return {
        "parquet": base64.b64encode(_parquet(rows)).decode(),
        "points": len(asked),
        "refused": sum(one != "" for one in rows["refused"]),
        "seconds": time.monotonic() - begun,
        "cpu_s": _cpu_s() - before,
        "start_cpu_s": start_cpu_s,
    }


def keep(directory: Path, number: int, found: Json) -> None:
    """Takes the file out of an answer and writes it beside, then renames it: a part that is there is whole."""
    path = file(directory, number)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_bytes(base64.b64decode(found.pop("parquet")))
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _start(twins: tuple[str, ...]) -> float:
    """Reads what every part needs; the CPU seconds of that, next to none where this process has read it."""
    before = _cpu_s()
    _parquet({"nothing": [0.0]})
    for block in _grid(twins).blocks:
        _scene(block.twin)
    return _cpu_s() - before


@lru_cache(maxsize=1)
def _grid(twins: tuple[str, ...]) -> Grid:
    """With the catalog's documents read once a process."""
    return Grid(twins)


def _parquet(rows: dict[str, list[Any]]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    made = io.BytesIO()
    pq.write_table(pa.Table.from_pydict(rows), made, compression="zstd")
    return made.getvalue()


def _ask(asked: Sequence[tuple[GridBlock, int, Point]]) -> list[Json]:
    """Answers in the order of the points. A twin stands in the document once, however many arrays of it are asked."""
    places: dict[str, int] = {}
    document: Json = {"version": catalog.VERSION, "targets": [], "hosts": [], "questions": []}
    for block, members, point in asked:
        target, host, memory = _scene(block.twin)
        if block.twin not in places:
            places[block.twin] = len(places)
            document["targets"].append(target)
            document["hosts"].append(host)
        place = places[block.twin]
        question: Json = {"target": place, "host": place, "streams": [stream(point, memory)]}
        document["questions"].append(question | ({"members": members} if members > 1 else {}))
    answers: list[Json] = Binary.find().document("predict", "-", given=document)["answers"]
    return answers


@lru_cache(maxsize=4096)
def _scene(twin: str) -> tuple[Json, Json, bool]:
    """A target, the host that drives it, and whether it is memory."""
    target = names.target(twin)
    return target, HostWish().document(target), names.is_memory(target)


def _rows(asked: Sequence[tuple[GridBlock, int, Point]], answers: Sequence[Json]) -> dict[str, list[Any]]:
    """Columns: the point, then its figures; a refusal has none, and its reason."""
    found: dict[str, list[Any]] = {
        "twin": [block.twin for block, _, _ in asked],
        "members": [members for _, members, _ in asked],
        "path": [block.path for block, _, _ in asked],
        "sequential": [point.sequential for _, _, point in asked],
        "size_bytes": [point.size_bytes for _, _, point in asked],
        "read_percent": [point.read_percent for _, _, point in asked],
        "threads": [point.threads for _, _, point in asked],
        "depth": [point.depth for _, _, point in asked],
    }
    streams = [None if one["kind"] == "refused" else one["solution"]["streams"][0] for one in answers]
    for name in FIGURES:
        found[name] = [None if one is None else float(one[name]) for one in streams]
    for name in TAILS:
        found[f"{name}_ns"] = [None if one is None else float(one[name]["mid_ns"]) for one in streams]
    found["bound_by"] = [None if one is None else str(one["bound_by"]) for one in streams]
    found["extrapolated"] = [None if one is None else bool(one["extrapolated"]) for one in streams]
    found["refused"] = [str(one["reason"]) if one["kind"] == "refused" else "" for one in answers]
    return found


def _cpu_s() -> float:
    """CPU seconds of this process and of the programs that it started and that ended."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(used.ru_utime + used.ru_stime for used in both)
