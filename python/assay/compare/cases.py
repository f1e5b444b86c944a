"""A comparison as cases: one for each figure."""

from __future__ import annotations

from assay.compare import table
from assay.compare.comparison import Comparison
from assay.compare.gate import Gate
from assay.results.cases import Case, State


def of(found: Comparison, gated: Gate | None, *, undecided_fails: bool = False) -> list[Case]:
    """With a bound, a shown loss beyond it fails and what is undecided is skipped; without one nothing fails."""
    group = f"{found.a.label} to {found.b.label}"
    return [
        Case(group, entry.title, _state(entry, gated, undecided_fails), _said(entry)) for entry in table.entries(found)
    ]


def _state(entry: table.Entry, gated: Gate | None, undecided_fails: bool) -> State:
    if gated is None:
        return "skipped" if entry.outcome.startswith("undecided") else "passed"
    if entry.line in gated.slower:
        return "failed"
    if entry.line in gated.undecided:
        return "failed" if undecided_fails else "skipped"
    return "passed"


def _said(entry: table.Entry) -> str:
    return f"A {entry.a}, B {entry.b}, {entry.ratio}, {entry.outcome}".replace(", ,", ",").replace("\u00a0", " ")
