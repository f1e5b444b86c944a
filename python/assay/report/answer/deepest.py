"""How deep the queue may be before an objective is missed."""

from __future__ import annotations

from collections.abc import Sequence

from assay.report.answer import together
from assay.report.answer.model import Answer, Number, Part, answer, number
from assay.results import group, pick
from assay.results.group import Point
from assay.results.row import Row

_QUESTION = "How deep may the queue be?"
# What the depths of one line have in common.
_ALIKE = ("study", "on", "scenario", "class", "path", "operation", "size", "threads", "pattern")


def find(rows: Sequence[Row]) -> Answer | None:
    """The answer; none where no objective was judged at several depths."""
    judged = [one for one in rows if _bounds_latency(one)]
    ladders = [_ladder(part) for part in group.by(judged, list(_ALIKE)).values()]
    ladders = [ladder for ladder in ladders if len(ladder) > 1]
    if not ladders:
        return None
    parts: list[Part] = []
    for ladder in ladders:
        parts += [*([" "] if parts else []), *_clause(ladder)]
    return answer("deepest", _QUESTION, parts, [point for ladder in ladders for point in ladder])


def _bounds_latency(one: Row) -> bool:
    """Whether it was judged by a latency: a deeper queue makes that worse, and throughput better."""
    wanted = (one.result.get("objective") or {}).get("objective") or {}
    return str(wanted.get("metric")).endswith("_ns")


def _ladder(rows: Sequence[Row]) -> list[Point]:
    """Operations per second by depth, the shallowest first."""
    return sorted(pick.points(rows, ["depth"], "ops_rate"), key=_depth)


def _depth(point: Point) -> int:
    return int(point.rows[0].asked.get("depth", 1))


def _clause(ladder: Sequence[Point]) -> list[Part]:
    """The deepest that keeps it with all that are less deep, and what the next one takes."""
    kept = next((index for index, point in enumerate(ladder) if not _met(point)), len(ladder))
    one = ladder[0].rows[0]
    wanted = (one.result["objective"] or {})["objective"]
    bound = f"{together.short(wanted)} of {together.objective(wanted, wanted['bound'])}"
    if kept == 0:
        return [f"{one.name} does not keep its {bound} even at depth {_depth(ladder[0])}: ", _seen(ladder[0]), "."]
    deepest = ladder[kept - 1]
    parts: list[Part] = [f"{one.name} keeps its {bound} up to depth {_depth(deepest)} (", number(deepest), ")"]
    if kept == len(ladder):
        return [*parts, ", the deepest that was tried."]
    return [*parts, f"; at {_depth(ladder[kept])} it takes ", _seen(ladder[kept]), "."]


def _met(point: Point) -> bool:
    return all((one.result["objective"] or {}).get("met") for one in point.rows)


def _seen(point: Point) -> Number:
    """What the objective saw of the worst repeat."""
    one = max(point.rows, key=lambda one: float((one.result["objective"] or {}).get("seen") or 0.0))
    outcome = one.result["objective"] or {}
    text = together.objective(outcome["objective"], float(outcome["seen"]))
    return Number(text, "", "as the record says", one.anchor, one.status, one.provenance)
