"""Which path to use for scans, and what mmap does."""

from __future__ import annotations

from collections.abc import Sequence

from assay.report.answer.model import Answer, Part, answer, derived, number
from assay.results import pick
from assay.results.group import Point
from assay.results.row import Row
from assay.units import show

_QUESTION = "Which path should scans take?"


def find(rows: Sequence[Row]) -> Answer | None:
    """The answer; none where fewer than two paths were measured in one study."""
    scans = [one for one in pick.lone(rows) if pick.does(one, "read", "sequential") and pick.cache(one) != "warm"]
    best = _best_study(scans)
    if len(best) < 2:
        return None
    first, *rest = pick.ranked(list(best.values()))
    place = pick.where(first, scans)
    parts: list[Part] = [f"{_cap(first.rows[0].path_label)} is fastest{place}: ", number(first), _conditions(first)]
    close = [point for point in rest if _overlap(point, first)]
    if close:
        parts += [". No clear difference to ", _names(close)]
    parts += ["."]
    for point in rest:
        if point not in close:
            share = derived(show.percent(point.value / first.value), point, first)
            parts += [f" {_cap(point.rows[0].path_label)} reaches ", share, " of it."]
    return answer("scan", _QUESTION, parts, [first, *rest])


def _best_study(scans: Sequence[Row]) -> dict[str, Point]:
    """What each path reaches where most of them were measured alike; among such places, where the best is best."""
    found: dict[tuple[object, ...], dict[str, Point]] = {}
    for point in pick.points(scans, ["path", "size", "threads", "depth", "cache", "on"], "bandwidth"):
        first = point.rows[0]
        alike = (first.cell.study, pick.size(first), first.asked.get("threads"), first.dimension("on"))
        of_place, label = found.setdefault(alike, {}), first.path_label
        if label not in of_place or point.value > of_place[label].value:
            of_place[label] = point
    return max(found.values(), key=lambda place: (len(place), max(point.value for point in place.values())), default={})


def _overlap(point: Point, best: Point) -> bool:
    if point.interval is None or best.interval is None:
        return point.value >= 0.95 * best.value
    return point.interval.high >= best.interval.low


def _conditions(point: Point) -> str:
    first = point.rows[0]
    threads = int(first.asked.get("threads") or 1)
    size = pick.size(first)
    pages = f", {show.block(size)} at a time" if size else ""
    return f" with {threads} thread{'s' if threads > 1 else ''}{pages}"


def _names(points: Sequence[Point]) -> str:
    return " and ".join(point.rows[0].path_label for point in points)


def _cap(text: str) -> str:
    return text if text.startswith(("io_uring", "libaio", "mmap", "pread", "pmem")) else text[:1].upper() + text[1:]
