"""Published grids of bandwidth by modules, kind of access, size and threads, read from CSV."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from assay.error import AssayError

GIB = float(1 << 30)

# Kind of access as the catalog names it, by (op, pattern, persist) of the grid. `clflushopt` is not fitted of its own:
# it is shown beside `clwb`.
KINDS = {
    ("read", "sequential", ""): "sequential_read",
    ("read", "random", ""): "random_read",
    ("write", "sequential", "nocache"): "sequential_nt",
    ("write", "random", "nocache"): "random_nt",
    ("write", "sequential", "cache"): "sequential_clwb",
    ("write", "random", "cache"): "random_clwb",
    ("write", "sequential", "none"): "sequential_plain",
    ("write", "random", "none"): "random_plain",
}

_NEEDED = ("dimms", "op", "pattern", "persist", "access_bytes", "threads", "gib_per_s")


@dataclass(frozen=True)
class GridPoint:
    """One published point."""

    modules: int
    size_bytes: float
    threads: int
    bytes_per_s: float


def read_grid(path: Path) -> dict[str, list[GridPoint]]:
    """Points of a grid by kind of access; rows of other benchmarks are skipped."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return _group(path, csv.DictReader(file))
    except OSError as error:
        raise AssayError(f"the grid {path} cannot be read: {error.strerror}; name a CSV file") from error


def _group(path: Path, rows: csv.DictReader[str]) -> dict[str, list[GridPoint]]:
    missing = [name for name in _NEEDED if name not in (rows.fieldnames or [])]
    if missing:
        raise AssayError(f"the grid {path} has no column {', '.join(missing)}; a grid has {', '.join(_NEEDED)}")
    points: dict[str, list[GridPoint]] = {}
    for number, row in enumerate(rows, start=2):
        kind = KINDS.get((row["op"], row["pattern"], row["persist"]))
        if kind is None:
            continue
        try:
            point = GridPoint(
                int(row["dimms"]),
                float(row["access_bytes"]),
                int(row["threads"]),
                float(row["gib_per_s"]) * GIB,
            )
        except ValueError as error:
            raise AssayError(f"line {number} of {path} does not hold numbers: {error}; correct it") from error
        if point.bytes_per_s <= 0 or point.modules < 1 or point.threads < 1:
            raise AssayError(f"line {number} of {path} has a figure that is not above 0; correct it")
        points.setdefault(kind, []).append(point)
    if not points:
        raise AssayError(f"the grid {path} has no kind of access that is known; known are {', '.join(KINDS.values())}")
    return points
