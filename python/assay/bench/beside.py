"""Assay's structures beside rivals: what pairs of runs came to, out of their records.

Nothing here is a test: figures of one machine are no reason to fail another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay import rivals
from assay.bench.contest import SERVERS, Contest, Size, can_meet, ours_of, pool_bytes
from assay.bench.meeting import OURS, Meeting, meeting_of
from assay.bench.pairs import Ratio, ratio
from assay.bench.reading import Reading, of_record
from assay.error import BAD_JOB, NOT_POSSIBLE, AssayError
from assay.record import WorkRecord
from assay.study.cell import Cell
from assay.untyped import Json


@dataclass(frozen=True)
class ContestResult:
    """One of ours and one rival in one contest."""

    contest: str
    ours: str
    rival: str
    pool_bytes: int
    durability: tuple[str, str]
    per_s: tuple[list[float], list[float]]
    cpu_ns: tuple[list[float], list[float]]
    verdicts: tuple[list[str], list[str]]
    threads: int = 1
    # What is not the same on both sides, in sentences.
    differences: tuple[str, ...] = ()

    @property
    def faster(self) -> Ratio:
        """Operations a second, ours to the rival's: more is better for us."""
        return ratio(*self.per_s)

    @property
    def dearer(self) -> Ratio:
        """CPU of an operation, ours to the rival's: less is better for us."""
        return ratio(*self.cpu_ns)

    def document(self) -> Json:
        """As JSON has it."""
        ratios = {"per_s_ratio": self.faster, "cpu_ratio": self.dearer}
        return {
            "contest": self.contest,
            "ours": self.ours,
            "rival": self.rival,
            "pool_bytes": self.pool_bytes,
            "durability": self.durability,
            "per_s": self.per_s,
            "cpu_ns_per_op": self.cpu_ns,
            "verdicts": self.verdicts,
            "threads": self.threads,
            "differences": self.differences,
            **{name: {"median": one.median, "low": one.low, "high": one.high} for name, one in ratios.items()},
        }


@dataclass(frozen=True)
class Missing:
    """A pair that could not be measured, and why."""

    contest: str
    ours: str
    rival: str
    reason: str
    fix: str

    def document(self) -> Json:
        """As JSON has it."""
        return {"contest": self.contest, "ours": self.ours, "rival": self.rival, "reason": self.reason, "fix": self.fix}


def met(contests: Sequence[Contest], rivals_chosen: Sequence[str]) -> Iterator[tuple[Contest, str, str]]:
    """Who meets whom in what."""
    for contest in contests:
        for ours in ours_of(contest):
            yield from ((contest, ours, rival) for rival in rivals_chosen if can_meet(contest, ours, rival))


def admit(names: Sequence[str], contests: Sequence[Contest], durability: str) -> list[str]:
    """The rivals that are named, or all that were built; refuses one that is not there, or has nothing to do."""
    chosen = list(names) or rivals.built()
    if not chosen:
        raise AssayError("no rival was built", hint="build some: `assay rivals build lmdb redb`", code=NOT_POSSIBLE)
    for name in chosen:
        if name in rivals.PUBLISHED:
            _admit_published(name, contests)
            continue
        if name not in SERVERS:
            rivals.program(name)
            continue
        if durability != "fsync":
            hint = "say --durability fsync: both are then durable at every commit"
            raise AssayError(f"{name} is durable at every commit, and others were not to be", hint=hint, code=BAD_JOB)
        if not any(met(contests, [name])):
            hint = "say --contest tpcc-memory or tpcc-twice-the-pool"
            raise AssayError(f"{name} runs TPC-C alone", hint=hint, code=BAD_JOB)
    return chosen


def _admit_published(name: str, contests: Sequence[Contest]) -> None:
    """Refuses a published program that was not built, or that has nothing for any of the contests."""
    if rivals.published.built(name) is None:
        raise AssayError(f"{name} was not built", hint=f"build it: `assay rivals build {name}`", code=NOT_POSSIBLE)
    if not any(met(contests, [name])):
        hint = f"it meets ours in {', '.join(rivals.published.read(name).contests())}"
        raise AssayError(f"{name} has nothing for these contests", hint=hint, code=BAD_JOB)


def results(
    cells: Iterable[Cell], records: Mapping[str, WorkRecord], missed: Sequence[Json]
) -> Iterator[ContestResult | Missing]:
    """What each pair came to: records by the ids of their cells, and what was not measured, as a run tells it."""
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(cell.job["beside"], []).append(cell)
    for group in groups.values():
        meeting = meeting_of(group[0].job)
        names = (meeting.contest.name, meeting.ours, meeting.rival)
        ids = {cell.id for cell in group}
        if why := next((one for one in missed if ids & set(one["cells"])), None):
            yield Missing(*names, why["reason"], why["fix"])
            continue
        if pairs := _pairs(group, records, meeting):
            yield _result(meeting, pairs)


def _pairs(group: Sequence[Cell], records: Mapping[str, WorkRecord], meeting: Meeting) -> list[tuple[Reading, Reading]]:
    """Readings of both sides, of repeats that have both."""
    missing = meeting.contest.workload == "missing"
    sides: tuple[dict[int, Reading], dict[int, Reading]] = ({}, {})
    for cell in group:
        if cell.id in records:
            side = 0 if meeting_of(cell.job).side == OURS else 1
            sides[side][cell.repeat] = of_record(records[cell.id], missing=missing)
    return [(sides[0][repeat], sides[1][repeat]) for repeat in sides[0] if repeat in sides[1]]


def _result(meeting: Meeting, pairs: Sequence[tuple[Reading, Reading]]) -> ContestResult:
    ours, rival = ([pair[side] for pair in pairs] for side in (0, 1))
    size: Size = meeting.size
    return ContestResult(
        meeting.contest.name,
        meeting.ours,
        meeting.rival,
        pool_bytes(meeting.contest, size),
        (ours[0].durability, rival[0].durability),
        ([one.per_s for one in ours], [one.per_s for one in rival]),
        ([one.cpu_ns for one in ours], [one.cpu_ns for one in rival]),
        ([one.verdict for one in ours], [one.verdict for one in rival]),
        size.threads,
        differences(meeting),
    )


def differences(meeting: Meeting) -> tuple[str, ...]:
    """What is not the same on both sides, as a published program's recipe says it."""
    if meeting.rival not in rivals.PUBLISHED:
        return ()
    return rivals.published.read(meeting.rival).differs(meeting.contest.name, meeting.ours)
