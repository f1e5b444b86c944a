"""What `assay quick` asks of two targets: one figure for each question, and the words for its answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.compare.line import Line
from assay.compare.match import Match
from assay.compare.side import Side

STUDY = "two-drives"
"""The study that asks them."""
FACTOR = "ask"
"""Its factor: which question."""


@dataclass(frozen=True)
class Question:
    """A row of the table. `does` says what the better side does, with `{}` for how many times as well."""

    ask: str
    metric: str
    title: str
    does: str
    noun: str


QUESTIONS = (
    Question("one read", "service_p50", "one 4 KiB read, median", "reads a block {} as fast", "single reads"),
    Question("32 reads at once", "ops_rate", "4 KiB reads, 32 in flight", "does {} the deep reads", "deep reads"),
    Question("durable commit", "ops_rate", "durable 4 KiB commits, one thread", "commits {} as fast", "commits"),
    Question("scan", "bandwidth", "scan, 256 KiB at a time", "scans {} as fast", "scans"),
    Question("reads and writes mixed", "ops_rate", "70 % reads, 30 % writes", "does {} the mixed load", "mixed load"),
    Question("reads and writes mixed", "read_service_p99", "p99 of those reads", "has a tail {} as short", "tail"),
)


def metrics(one: Match) -> Sequence[str]:
    """The figures that are compared of a cell."""
    asked = one.pairs[0].a.cell.factors.get(FACTOR) if one.pairs else None
    return [question.metric for question in QUESTIONS if question.ask == asked]


def answers(side: Side) -> bool:
    """Whether a side is of the study that asks these questions."""
    return bool(side.rows) and all(FACTOR in one.cell.factors for one in side.rows)


def of(line: Line) -> Question | None:
    """The question that a comparison answers; none for one of another study."""
    asked = line.pairs[0].a.cell.factors.get(FACTOR) if line.pairs else None
    return next((one for one in QUESTIONS if (one.ask, one.metric) == (asked, line.metric)), None)
