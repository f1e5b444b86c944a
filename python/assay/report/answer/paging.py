"""What page-ins and durable page-outs together reach, by path: the buffer manager's question."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from assay.report.answer.model import Answer, Part, answer, derived, number
from assay.results import group, labels, pick
from assay.results.group import Point
from assay.results.row import Row
from assay.units import show

_QUESTION = "Which path should a buffer manager take?"


def find(rows: Sequence[Row]) -> Answer | None:
    """The answer; none where fewer than two paths were measured with the same mix."""
    mixed = [one for one in pick.lone(rows) if (one.asked.get("operation") or {}).get("kind") == "mix"]
    best = _alike(mixed)
    if len(best) < 2:
        return None
    first, *rest = pick.ranked(best)
    one = first.rows[0]
    size = show.block(float(pick.size(one) or 0))
    share = labels.operation(one.asked["operation"])
    parts: list[Part] = [f"With {share} of {size} pages, {said(one)} moves ", number(first), pick.where(first, mixed)]
    for point in rest:
        ratio = derived(show.percent(point.value / first.value), point, first)
        parts += [f"; {said(point.rows[0])} ", ratio, " of that"]
    return answer("paging", _QUESTION, [*parts, "."], [first, *rest])


def said(one: Row) -> str:
    """Path and means of durability."""
    return f"{one.path_label} with {labels.durability(pick.durability(one))}"


def _alike(rows: Sequence[Row]) -> list[Point]:
    """The most written mix that most paths have in common, at the load where the best path is best."""
    found: dict[tuple[Hashable, ...], list[Point]] = {}
    for alike, part in group.by(rows, ["study", "on", "operation", "size", "threads", "pattern"]).items():
        found[alike] = pick.points(part, ["path", "durability"], "bandwidth")

    def rank(points: Sequence[Point]) -> tuple[int, int, float]:
        share = pick.write_percent(points[0].rows[0]) if points else 0
        return len(points), share, max((point.value for point in points), default=0.0)

    return max(found.values(), key=rank, default=[])
