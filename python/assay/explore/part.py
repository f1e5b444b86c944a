"""A part of a sample: its points are asked of one process, and lie in one Parquet file when they are all answered."""

from __future__ import annotations

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

Json = dict[str, Any]

FIGURES = ("bandwidth_bytes_per_s", "ops_per_s", "mean_ns", "cycles_per_op")
TAILS = ("p50", "p99", "p999")


def file(directory: Path, number: int) -> Path:
    """Where a part lies."""
    return directory / "points" / f"part-{number:06d}.parquet"


def answered(directory: str, twins: Sequence[str], count: int, number: int, size: int) -> Json:
    """Answers a part and writes it: seconds and CPU seconds that it took, points, and how many were refused.

    It is written beside and renamed: a part that is there is whole.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    begun, before = time.monotonic(), _cpu_s()
    end = min((number + 1) * size, count)
    asked = list(Grid(tuple(twins)).sample(count, number * size, end))
    rows = _rows(asked, _ask([point for _, _, point in asked]))
    path = file(Path(directory), number)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        pq.write_table(pa.Table.from_pydict(rows), draft, compression="zstd")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    refused = sum(one != "" for one in rows["refused"])
    return {
        "points": len(asked),
        "refused": refused,
        "seconds": time.monotonic() - begun,
        "cpu_s": _cpu_s() - before,
    }


def _ask(points: Sequence[Point]) -> list[Json]:
    """Answers in the order of the points."""
    places: dict[str, int] = {}
    document: Json = {"version": catalog.VERSION, "targets": [], "hosts": [], "questions": []}
    for point in points:
        target, host, memory = _scene(point.on)
        if point.on not in places:
            places[point.on] = len(places)
            document["targets"].append(target)
            document["hosts"].append(host)
        place = places[point.on]
        document["questions"].append({"target": place, "host": place, "streams": [stream(point, memory)]})
    answers: list[Json] = Binary.find().document("predict", "-", given=document)["answers"]
    return answers


@lru_cache(maxsize=4096)
def _scene(on: str) -> tuple[Json, Json, bool]:
    """A target, the host that drives it, and whether it is memory."""
    target = names.target(on)
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
