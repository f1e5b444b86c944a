"""What a durable commit costs."""

from __future__ import annotations

from collections.abc import Sequence

from assay.report.answer.model import Answer, Part, answer, derived, number
from assay.results import group, labels, pick
from assay.results.group import Point
from assay.results.row import Row
from assay.units import show

_QUESTION = "What does a durable commit cost?"
_LAYOUTS = {"written": "recycled file", "grow": "growing file", "preallocated": "preallocated file"}


def find(rows: Sequence[Row]) -> Answer | None:
    """The answer; none where no write was made durable by itself."""
    each, found = _alone(rows), median(rows)
    if found is None:
        return None
    parts, used = _cost(found, pick.where(found, each))
    medians = pick.points(each, _dimensions(each), "service_p50_ns")
    for more, points in (_slowest(found, medians), _grouped(_writes(rows), found)):
        parts, used = parts + more, used + points
    return answer("commit", _QUESTION, parts, used)


def median(rows: Sequence[Row]) -> Point | None:
    """Median of one durable write at a time, by the means that is fastest."""
    each = _alone(rows)
    return pick.leading(pick.points(each, _dimensions(each), "service_p50_ns"), lowest=True)


def _writes(rows: Sequence[Row]) -> list[Row]:
    return [one for one in pick.lone(rows) if pick.does(one, "write") and pick.durability(one)["kind"] != "none"]


def _alone(rows: Sequence[Row]) -> list[Row]:
    """Writes of one thread that share no flush, of the size nearest to 4 KiB."""
    each = [one for one in _writes(rows) if _every(one) == 1 and one.asked.get("threads", 1) == 1]
    each = [one for one in each if one.closed] or each
    return pick.nearest_size([one for one in each if pick.does(one, "write", "sequential")] or each, 4096)


def _dimensions(rows: Sequence[Row]) -> list[str]:
    names = list(dict.fromkeys(name for one in rows for name in one.cell.factors))
    return ["path", "size", "durability", *names]


def _every(one: Row) -> int:
    return int(pick.durability(one).get("every") or 1)


def _cost(median: Point, place: str) -> tuple[list[Part], list[Point]]:
    first, used = median.rows[0], [median]
    size = show.block(float(pick.size(first) or 0))
    means = labels.durability(pick.durability(first))
    layout = _LAYOUTS.get(pick.layout(first), "file as found")
    parts: list[Part] = [f"A durable {size} write ({means}, {layout}){place} takes "]
    parts += [number(median), " at the median"]
    tail, pace, flush = (group.point(median.rows, name) for name in ("service_p99_ns", "ops_rate", "flush_p50_ns"))
    if tail is not None:
        parts += [" and ", number(tail), " at p99"]
        used.append(tail)
    if pace is not None and first.closed:
        parts += [": ", number(pace, show.count), " commits/s from one thread"]
        used.append(pace)
    if flush is not None and 0 < flush.value <= median.value:
        parts += [", and the flush is ", derived(show.percent(flush.value / median.value), flush, median), " of it"]
    return [*parts, "."], used


def _slowest(median: Point, medians: Sequence[Point]) -> tuple[list[Part], list[Point]]:
    """What another layout of the log costs."""
    first = median.rows[0]
    place = first.dimension("on")
    same = [
        one for one in medians if one.rows[0].path_label == first.path_label and one.rows[0].dimension("on") == place
    ]
    worst = max((one for one in same if one is not median), key=lambda point: point.value, default=None)
    if worst is None or worst.value < 1.2 * median.value or pick.overlap(worst, median):
        return [], []
    layout = _differs(worst.rows[0], first)
    ratio = derived(show.times(worst.value / median.value), worst, median)
    return [f" With {layout} it takes ", ratio, " as long: ", number(worst), "."], [worst]


def _differs(one: Row, other: Row) -> str:
    if pick.layout(one) != pick.layout(other):
        return "a " + _LAYOUTS.get(pick.layout(one), pick.layout(one))
    names = [name for name, value in one.cell.factors.items() if other.cell.factors.get(name) != value]
    # `means O_DIRECT + O_DSYNC` would read as a verb.
    said = (
        f"{'' if name == 'means' else labels.dimension(name) + ' '}{labels.value(name, one.cell.factors[name])}"
        for name in names
    )
    return ", ".join(said) or labels.durability(pick.durability(one))


def _grouped(writes: Sequence[Row], median: Point) -> tuple[list[Part], list[Point]]:
    """What sharing a flush gives."""
    shared = [one for one in writes if _every(one) > 1 and one.closed and pick.size(one) == pick.size(median.rows[0])]
    alone = group.point(median.rows, "ops_rate")
    found = pick.points(shared, _dimensions(shared), "ops_rate")
    best = max(found, key=lambda point: point.value, default=None)
    if best is None or alone is None or best.value < 1.2 * alone.value:
        return [], []
    every = _every(best.rows[0])
    ratio = derived(show.times(best.value / alone.value), best, alone)
    return [f" One flush for {every} writes gives ", number(best, show.count), " writes/s, ", ratio, " as many."], [
        best
    ]
