"""What one read costs, and what depth gives."""

from __future__ import annotations

from collections.abc import Sequence

from assay.report.answer.model import Answer, Part, answer, derived, number
from assay.results import group, pick
from assay.results.group import Point
from assay.results.row import Row
from assay.units import show

_QUESTION = "What does one read cost, and what does depth give?"
_ENOUGH = 0.9
#: A CPU goes on to the next load while one of fewer bytes is under way, unless a fence waits for it.
_OVERLAP_BELOW = 4096


def find(rows: Sequence[Row]) -> Answer | None:
    """The answer; none where single random reads from the device were not measured."""
    reads, found = _reads(rows), median(rows)
    return None if found is None else _told(reads, found)


def median(rows: Sequence[Row]) -> Point | None:
    """Median of one random read at a time, on the path that is fastest."""
    single = pick.nearest_size([one for one in _reads(rows) if pick.in_flight(one) == 1], 4096)
    single = [one for one in single if not _overlaps(one)] or single
    return pick.leading(pick.points(single, ["path", "size"], "service_p50_ns"), lowest=True)


def _overlaps(one: Row) -> bool:
    path = one.asked.get("path") or {}
    loads = path.get("kind") in ("mmap", "pmem") and not path.get("fenced")
    return loads and (pick.size(one) or 0) < _OVERLAP_BELOW


def _reads(rows: Sequence[Row]) -> list[Row]:
    """Random reads in a closed loop that were not served from a warm cache; past it where there are such."""
    reads = [
        one for one in pick.lone(rows) if pick.does(one, "read", "uniform") and one.closed and pick.cache(one) != "warm"
    ]
    return [one for one in reads if pick.direct(one)] or reads


def _told(reads: Sequence[Row], median: Point) -> Answer:
    tail, pace = group.point(median.rows, "service_p99_ns"), group.point(median.rows, "ops_rate")
    size = show.block(float(pick.size(median.rows[0]) or 0))
    place = pick.where(median, reads)
    overlap = _overlaps(median.rows[0])
    turn = "after another" if overlap else "at a time"
    parts: list[Part] = [f"One random {size} read {turn}{place} takes ", number(median), " at the median"]
    used = [median]
    if tail is not None:
        parts += [" and ", number(tail), " at p99"]
        used.append(tail)
    if pace is not None:
        parts += [f" ({median.rows[0].path_label}), that is ", number(pace, show.count), " reads/s. "]
        deeper, more = _depth(reads, median, pace)
        parts, used = parts + deeper, used + more
    if overlap:
        parts.append(" A CPU has several such loads under way at once: one by itself takes longer (pmem+fenced).")
    return answer("latency", _QUESTION, parts, used)


def _depth(reads: Sequence[Row], median: Point, pace: Point) -> tuple[list[Part], list[Point]]:
    same = [one for one in reads if pick.size(one) == pick.size(median.rows[0])]
    swept = [
        part for part in group.by(same, ["study", "path"]).values() if len({pick.in_flight(one) for one in part}) > 1
    ]
    found = pick.points([one for part in swept for one in part], ["path", "threads", "depth"], "ops_rate")
    best = pick.leading(found)
    if best is None or pick.in_flight(best.rows[0]) == 1:
        return [], []
    flight, gain = pick.in_flight(best.rows[0]), best.value / pace.value
    if gain < 1.1:
        return [f"More of them in flight give nothing: {flight} reach ", number(best, show.count), " reads/s."], [best]
    parts: list[Part] = [f"{flight} in flight give ", number(best, show.count), " reads/s"]
    parts += [f" through {best.rows[0].path_label}, ", derived(show.times(gain), best, pace), " as many"]
    return [*parts, *_knee(found, best)], [best]


def _knee(found: Sequence[Point], best: Point) -> list[Part]:
    """The smallest load on the same path that gives nearly all."""
    path = best.rows[0].path_label
    curve = [point for point in found if point.rows[0].path_label == path and point.value >= _ENOUGH * best.value]
    knee = min(curve, key=lambda point: pick.in_flight(point.rows[0]), default=best)
    flight = pick.in_flight(knee.rows[0])
    deepest = max(pick.in_flight(point.rows[0]) for point in found if point.rows[0].path_label == path)
    if flight >= pick.in_flight(best.rows[0]):
        return [f"; {deepest} give no more."] if deepest > flight else ["."]
    share = show.percent(knee.value / best.value)
    return [f"; {flight} already give ", derived(share, knee, best), " of that, and beyond it mostly the wait grows."]
