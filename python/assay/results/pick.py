"""Finds, among all rows, those that answer a question, by what they did rather than by the name of their study."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from assay.record import Durability
from assay.results import group
from assay.results.group import Point
from assay.results.row import Row


def lone(rows: Iterable[Row]) -> list[Row]:
    """Classes that had the machine for themselves, on a real target."""
    return [one for one in rows if one.lone]


def does(one: Row, operation: str, *patterns: str) -> bool:
    """Whether a class does only `operation`, in one of `patterns` (any where none is named)."""
    kind, pattern = one.does
    return kind == operation and (not patterns or pattern in patterns)


def size(one: Row) -> int | None:
    """Size of operations, where there is one."""
    found = one.asked.get("size")
    return found if isinstance(found, int) else None


def in_flight(one: Row) -> int:
    """Operations in flight that were asked for."""
    return int(one.asked.get("threads") or 1) * int(one.asked.get("depth") or 1)


def cache(one: Row) -> str:
    """State of the page cache: `warm`, `cold`, `bypassed`, `as-found`."""
    return one.cache


def write_percent(one: Row) -> int:
    """Share of writes of a mix; 0 for everything else."""
    operation = one.asked.get("operation")
    return int(operation.get("write_percent") or 0) if operation and operation["kind"] == "mix" else 0


def direct(one: Row) -> bool:
    """Whether the page cache was out of the way."""
    return one.direct


def durability(one: Row) -> Durability:
    """What makes writes durable."""
    return one.asked.get("durability") or {"kind": "none", "every": 1}


def layout(one: Row) -> str:
    """Layout of the class's data set."""
    wanted = one.asked.get("dataset")
    found = (entry for entry in one.record["job"].get("datasets") or () if entry.get("name") == wanted)
    return str((next(found, None) or {}).get("layout") or "written")


def nearest_size(rows: Sequence[Row], wanted: int) -> list[Row]:
    """Rows of the size nearest to `wanted`."""
    sizes = {found for one in rows if (found := size(one))}
    if not sizes:
        return []
    best = min(sizes, key=lambda found: (abs(math.log(found / wanted)), found))
    return [one for one in rows if size(one) == best]


def points(rows: Sequence[Row], dimensions: Sequence[str], metric: str) -> list[Point]:
    """One point for each combination of `dimensions`; invalid ones only where nothing else is there."""
    keyed = group.by(rows, ["study", "on", *dimensions])
    found = [point for part in keyed.values() if (point := group.point(part, metric)) is not None]
    return [point for point in found if point.status != "invalid"] or found


def where(point: Point, rows: Iterable[Row]) -> str:
    """` on PLACE`, where the rows come from more than one."""
    places = {str(one.dimension("on")) for one in rows}
    return f" on {point.rows[0].dimension('on')}" if len(places) > 1 else ""


# A valid record speaks for a suspect one that it nearly equals; beyond that the answer would be another.
_NEAR = 1.1


def leading(points: Sequence[Point], *, lowest: bool = False) -> Point | None:
    """The best point by its value; a valid one that comes within a tenth of it goes before a suspect one."""
    if not points:
        return None
    best = (min if lowest else max)(point.value for point in points)
    near = [point for point in points if (point.value <= best * _NEAR if lowest else point.value * _NEAR >= best)]
    sign = 1 if lowest else -1
    return min(near, key=lambda point: (point.status != "valid", sign * point.value))


# One run without an interval may be off by this factor either way: repeats on shared machines were seen to.
ALONE = 1.5


def overlap(one: Point, other: Point) -> bool:
    """Whether the intervals of two figures meet: then they have not been shown to differ."""
    first, second = bounds(one), bounds(other)
    return first[0] <= second[1] and second[0] <= first[1]


def bounds(point: Point) -> tuple[float, float]:
    """The interval of a figure; what one run may be off where there is none."""
    found = point.interval
    return (found.low, found.high) if found is not None else (point.value / ALONE, point.value * ALONE)


def ranked(points: Sequence[Point]) -> list[Point]:
    """The leading point, then the others from the highest to the lowest."""
    first = leading(points)
    rest = sorted((point for point in points if point is not first), key=lambda point: -point.value)
    return [*([] if first is None else [first]), *rest]
