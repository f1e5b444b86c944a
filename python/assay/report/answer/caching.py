"""What the page cache hides, and what it costs when it is cold."""

from __future__ import annotations

from collections.abc import Sequence

from assay.report.answer.model import Answer, Part, answer, derived, number
from assay.results import group, pick
from assay.results.group import Point
from assay.results.row import Row
from assay.units import show

_QUESTION = "What does the page cache do?"
_DIMENSIONS = ("study", "operation", "pattern", "size", "threads", "depth")


def find(rows: Sequence[Row]) -> Answer | None:
    """The answer; none where the same reads were not measured both warm and from the device."""
    reads = [one for one in pick.lone(rows) if pick.does(one, "read")]
    for part in group.by(reads, _DIMENSIONS).values():
        states = {state: _best(part, state) for state in ("warm", "cold", "bypassed")}
        device = states["cold"] or states["bypassed"]
        if states["warm"] is not None and device is not None:
            return _said(states["warm"], states["cold"], states["bypassed"])
    return None


def _best(rows: Sequence[Row], state: str) -> Point | None:
    found = pick.points([one for one in rows if pick.cache(one) == state], ["path"], "service_p50_ns")
    return min(found, key=_rank, default=None)


def _rank(point: Point) -> tuple[bool, bool, float]:
    """System calls first, so that warm, cold and bypassed are alike; mappings where there is nothing else."""
    kind = str((point.rows[0].asked.get("path") or {}).get("kind"))
    return kind != "pread", point.status != "valid", point.value


def _said(warm: Point, cold: Point | None, bypassed: Point | None) -> Answer:
    size = show.block(float(pick.size(warm.rows[0]) or 0))
    parts: list[Part] = [
        f"{show.article(size)} read that a warm cache serves takes ",
        number(warm),
        f" ({warm.rows[0].path_label})",
    ]
    used = [warm]
    for point, words in ((cold, "through a cold cache"), (bypassed, "past the cache")):
        if point is not None:
            ratio = derived(show.times(point.value / warm.value), point, warm)
            parts += [f"; {words} it takes ", number(point), _path(point, warm), ", ", ratio, " as long"]
            used.append(point)
    return answer("cache", _QUESTION, [*parts, "."], used)


def _path(point: Point, other: Point) -> str:
    label = point.rows[0].path_label
    return "" if label == other.rows[0].path_label else f" ({label})"
