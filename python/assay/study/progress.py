"""What people see while a study runs: live figures on a terminal, plain lines elsewhere. All on standard error."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from typing import IO, cast

from assay.record import ClassResult, Record, Verdict, WorkRecord
from assay.results.work import RATES
from assay.study.cell import Cell
from assay.study.outcome import Outcome
from assay.study.plan import Plan
from assay.units.parse import format_ns, format_rate, format_seconds
from assay.untyped import Json

_RATIO_BOUNDS = (0.2, 20.0)


@dataclass
class Clock:
    """Time left: what the plan expects of the cells to come, corrected by how the cells so far kept to it."""

    expected: dict[str, float]
    seen_s: float = 0.0
    expected_s: float = 0.0
    begun_at: float = field(default_factory=time.monotonic)

    def begin(self) -> None:
        """A cell starts."""
        self.begun_at = time.monotonic()

    def end(self, cell: str) -> None:
        """A cell ended."""
        self.seen_s += time.monotonic() - self.begun_at
        self.expected_s += self.expected.pop(cell, 0.0)

    def left_s(self, running: str = "") -> float:
        """Seconds left; of the running cell, what it has not used yet."""
        low, high = _RATIO_BOUNDS
        ratio = min(high, max(low, self.seen_s / self.expected_s)) if self.expected_s > 0 else 1.0
        rest = sum(seconds for cell, seconds in self.expected.items() if cell != running) * ratio
        current = self.expected.get(running, 0.0) * ratio - (time.monotonic() - self.begun_at) if running else 0.0
        return rest + max(0.0, current)


class Silent:
    """Shows nothing."""

    def begin(self, plan: Plan, left: list[Cell]) -> None:
        """Nothing."""

    def cell_begins(self, cell: Cell) -> None:
        """Nothing."""

    def event(self, cell: Cell, event: Json) -> None:
        """Nothing."""

    def cell_ends(self, cell: Cell, outcome: Outcome) -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        """Nothing."""

    def end(self) -> None:
        """Nothing."""


class Plain(Silent):
    """One line per cell, without colour or cursor movement."""

    def __init__(self, stream: IO[str] | None = None) -> None:
        self._stream = stream or sys.stderr
        self._clock = Clock({})
        self._total = 0
        self._position = 0

    def begin(self, plan: Plan, left: list[Cell]) -> None:
        self._clock = Clock({cell.id: cell.seconds for cell in left})
        self._total = len(plan.cells)
        self._position = self._total - len(left)
        if self._position:
            self.note(f"{self._position} of {self._total} cells are done already")

    def cell_begins(self, cell: Cell) -> None:  # noqa: ARG002  As the protocol has it.
        self._clock.begin()

    def cell_ends(self, cell: Cell, outcome: Outcome) -> None:
        self._clock.end(cell.id)
        self._position += 1
        left = format_seconds(self._clock.left_s())
        self.note(f"[{self._position}/{self._total}] {cell.job['name']}: {told(outcome)} ({left} left)")

    def note(self, text: str) -> None:
        print(text, file=self._stream, flush=True)


def told(outcome: Outcome) -> str:
    """A cell's outcome in a few words."""
    if outcome.record is None:
        state = {"refused": "not measured"}.get(outcome.state, outcome.state)
        return f"{state}: {outcome.reason}"
    classes = _done(outcome.record)
    verdict = outcome.record["verdict"]
    doubt = "" if verdict["status"] == "valid" else f" [{verdict['status']}: {_codes(verdict)}]"
    state = "" if outcome.state == "finished" else f"{outcome.state}, "
    return f"{state}{classes}{doubt}"


def _done(record: Record | WorkRecord) -> str:
    if "classes" in record:
        return "; ".join(_class(result) for result in cast("Record", record)["classes"])
    return _work(cast("WorkRecord", record))


def _class(result: ClassResult) -> str:
    median = format_ns(result["service"]["p50_ns"])
    rate = float(result["ops_rate"]["value"])
    return f"{result['name']} {format_rate(float(result['bandwidth']['value']))}, {rate:.0f}/s, median {median}"


def _work(record: WorkRecord) -> str:
    """What work came to: its rate."""
    figures = record["figures"]
    named = next((name for name in RATES if name in figures), None)
    return f"{figures[named]['value']:,.0f} {named.removesuffix('_per_s').replace('_', ' ')}/s" if named else "done"


def _codes(verdict: Verdict) -> str:
    reasons = (reason for reason in verdict["reasons"] if reason["severity"] != "note")
    return ", ".join(dict.fromkeys(str(reason["code"]) for reason in reasons))
