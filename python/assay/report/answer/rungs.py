"""The declared ladder, rung by rung: what each step gains or loses against the one before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.report.answer import layers
from assay.report.figures.rungs import LadderStep, places
from assay.results import row
from assay.results.folder import Folder
from assay.units import show


@dataclass(frozen=True)
class Rung:
    """One step. `share` is of the best; `change` against the measured step before it, and `kind` what it is:
    `gain`, `loss`, `alike` where the intervals of both overlap, or empty."""

    label: str
    said: str
    share: float
    change: str
    kind: str
    status: str
    anchor: str
    cycles: str
    reason: str


@dataclass(frozen=True)
class Ladder:
    """All rungs in their order."""

    title: str
    anchor: str
    rungs: tuple[Rung, ...]
    missing: tuple[Rung, ...]


def find(folder: Folder) -> Ladder | None:
    """The first declared ladder; none where fewer than two rungs were measured."""
    declared = layers.declared(folder)
    if declared is None:
        return None
    study, ask, cells = declared
    rows = row.rows(cells)
    steps = places(ask, cells, rows)[0][1] if rows else []
    if sum(1 for step in steps if step.classes) < 2:
        return None
    best = max((step.total for step in steps if step.status != "invalid"), default=0.0) or 1.0
    made = [_rung(steps, index, best) for index in range(len(steps))]
    return Ladder(
        study.title,
        f"study-{study.name}",
        tuple(one for one in made if one.anchor),
        tuple(one for one in made if not one.anchor),
    )


def _rung(steps: Sequence[LadderStep], index: int, best: float) -> Rung:
    step = steps[index]
    if not step.classes:
        return Rung(step.label, "not measured", 0.0, "", "", "not measured", "", "", step.reason)
    before = next((one for one in reversed(steps[:index]) if one.classes and one.status != "invalid"), None)
    change, kind = ("", "") if before is None or step.status == "invalid" else compared(step, before)
    cycles = show.significant(step.cycles_per_byte, 2) if step.cycles_per_byte else ""
    said = show.rate(step.total)
    share = min(1.0, step.total / best)
    return Rung(step.label, said, share, change, kind, step.status, step.anchor, cycles, "")


def compared(step: LadderStep, before: LadderStep) -> tuple[str, str]:
    """A change in words, and whether it is a gain, a loss, or not more than the intervals of both allow."""
    ratio = step.total / before.total if before.total else 1.0
    text = f"{show.times(ratio)}" if ratio >= 2 else f"{'+' if ratio >= 1 else chr(0x2212)}{abs(ratio - 1) * 100:.0f} %"
    low, high = step.bounds
    first, last = before.bounds
    if low <= last and first <= high:
        return text, "alike"
    return text, "gain" if ratio > 1 else "loss"
