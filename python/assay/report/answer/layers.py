"""What direct and asynchronous I/O gain over blocking calls through the page cache."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from assay.charts.model import Ask
from assay.report.answer.model import Answer, Number, Part, answer
from assay.report.figures.rungs import LadderStep, places
from assay.results import row
from assay.results.folder import Cell, Folder, Study
from assay.units import show

_QUESTION = "What do direct and asynchronous I/O gain?"


def declared(folder: Folder) -> tuple[Study, Ask, tuple[Cell, ...]] | None:
    """The first study that declares a ladder."""
    for study in folder.studies:
        for index, entry in enumerate(study.figures):
            if entry.get("kind") == "ladder" and entry.get("x") != "on":
                return study, Ask.read(entry, index), folder.of(study.name)
    return None


def find(folder: Folder) -> Answer | None:
    """The answer; none where fewer than two rungs were measured."""
    found = declared(folder)
    if found is None:
        return None
    _, ask, cells = found
    rows = row.rows(cells)
    rungs = places(ask, cells, rows)[0][1] if rows else []
    measured = [step for step in rungs if step.classes and step.status != "invalid"]
    if len(measured) < 2:
        return _too_few(rungs, measured)
    base, best = measured[0], max(measured, key=lambda step: step.total)
    alike = best.bounds[0] <= base.bounds[1]
    parts = _no_gain(base, measured) if best is base else _alike(base, best) if alike else _gain(base, best)
    parts += _losses(measured) + _rest(rungs)
    points = [point for step in (base, best) for point in step.classes.values()]
    return answer("ladder", _QUESTION, parts, points)


def _too_few(rungs: Sequence[LadderStep], measured: Sequence[LadderStep]) -> Answer | None:
    """Says what there is, and why nothing can be compared; none where no rung left a record."""
    if not any(step.classes for step in rungs):
        return None
    parts: list[Part] = ["This run cannot tell."]
    for step in measured:
        parts += [f" {step.label} moves ", _rate(step), " in all."]
    points = [point for step in rungs for point in step.classes.values()]
    return answer("ladder", _QUESTION, [*parts, *_rest(rungs)], points)


def _rest(rungs: Sequence[LadderStep]) -> list[Part]:
    """Rungs that are no part of the comparison."""
    invalid = [step.label for step in rungs if step.classes and step.status == "invalid"]
    missing = [step.label for step in rungs if not step.classes]
    parts: list[Part] = [f" Invalid: {'; '.join(invalid)}."] if invalid else []
    return parts + ([f" Not measured: {'; '.join(missing)}."] if missing else [])


def _gain(base: LadderStep, best: LadderStep) -> list[Part]:
    parts: list[Part] = [f"{best.label} moves ", _rate(best), " in all, ", _ratio(best, base, best.total / base.total)]
    parts += [f" what {base.label} moves (", _rate(base), ")"]
    if base.cycles_per_byte and best.cycles_per_byte:
        ratio = best.cycles_per_byte / base.cycles_per_byte
        parts += [", at ", _ratio(best, base, ratio), " the CPU cycles per byte"]
    return [*parts, "."]


def _alike(base: LadderStep, best: LadderStep) -> list[Part]:
    return [
        f"No step is shown to move more: {base.label} moves ",
        _rate(base),
        f", {best.label} ",
        _rate(best),
        ", and the intervals of both overlap.",
    ]


def _losses(measured: Sequence[LadderStep]) -> list[Part]:
    """Steps that do less than the one before them, by more than the intervals of both allow."""
    parts: list[Part] = []
    for before, step in pairwise(measured):
        if step.total < before.total and step.bounds[1] < before.bounds[0]:
            lost = Number(
                show.percent(1 - step.total / before.total), "", "ratio of two figures", step.anchor, step.status,
                next(iter(step.classes.values())).provenance,
            )  # fmt: skip
            parts += [f" {step.label} loses ", lost, f" of what {before.label} moves."]
    return parts


def _no_gain(base: LadderStep, measured: Sequence[LadderStep]) -> list[Part]:
    second = max(measured[1:], key=lambda step: step.total)
    return [
        f"Nothing here: {base.label} moves ",
        _rate(base),
        ", and the best of the others, ",
        second.label,
        ", ",
        _rate(second),
        ".",
    ]


def _rate(step: LadderStep) -> Number:
    origin = next(iter(step.classes.values())).provenance
    return Number(show.rate(step.total), "", "sum over classes", step.anchor, step.status, origin)


def _ratio(step: LadderStep, base: LadderStep, value: float) -> Number:
    origin = next(iter(step.classes.values())).provenance
    status = step.status if step.status != "valid" else base.status
    return Number(show.times(value), "", "ratio of two figures", step.anchor, status, origin)
