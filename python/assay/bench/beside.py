"""Assay's structures beside rivals, in one run on one machine: adjacent pairs in random order.

Nothing here is a test: figures of one machine are no reason to fail another.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay import own, rivals
from assay.bench.contest import SERVERS, Contest, Ring, Size, can_meet, ours_of, place_of, pool_bytes
from assay.bench.pairs import Ratio, ratio
from assay.bench.reading import Reading
from assay.dbms.postgres.user import server_user
from assay.error import BAD_JOB, FAILED, INTERRUPTED, NOT_POSSIBLE, AssayError
from assay.study.work import save

Json = dict[str, Any]


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


def compare(
    contests: Sequence[Contest],
    names: Sequence[str],
    size: Size,
    repeats: int,
    on: Path | None,
    out: Path | None,
    listen: Callable[[str], None],
) -> Iterator[ContestResult | Missing]:
    """Each contest, each of ours beside each rival; where a run fails, why, and the others go on.

    Raises:
        AssayError: where a rival was not built, or somebody interrupts.
    """
    chosen = list(names) or rivals.built()
    if not chosen:
        raise AssayError("no rival was built", hint="build some: `assay rivals build lmdb redb`", code=NOT_POSSIBLE)
    _admit(chosen, contests, size)
    chance = random.Random(size.seed)  # noqa: S311  The order of runs.
    owner = server_user().owner if any(name in SERVERS for name in chosen) else None
    for where in dict.fromkeys(place_of(contest, on) for contest in contests):
        folder = own.make(where, "assay-rivals-", owner[0] if owner is not None else None)
        ring = Ring(folder, size, lambda record: None if out is None else _save(out, record))
        try:
            for contest, ours, rival in _met([one for one in contests if place_of(one, on) == where], chosen):
                listen(f"{contest.name}: {ours} beside {rival}")
                yield _tried(ring, contest, (ours, rival), size, repeats, chance)
        finally:
            ring.close()
            own.remove(folder)


def _met(contests: Sequence[Contest], rivals_chosen: Sequence[str]) -> Iterator[tuple[Contest, str, str]]:
    """Who meets whom in what."""
    for contest in contests:
        for ours in ours_of(contest):
            yield from ((contest, ours, rival) for rival in rivals_chosen if can_meet(contest, ours, rival))


def _admit(names: Sequence[str], contests: Sequence[Contest], size: Size) -> None:
    """Refuses a rival that is not there, or that nothing can be asked of."""
    for name in names:
        if name in rivals.PUBLISHED:
            _admit_published(name, contests)
            continue
        if name not in SERVERS:
            rivals.program(name)
            continue
        if size.durability != "fsync":
            hint = "say --durability fsync: both are then durable at every commit"
            raise AssayError(f"{name} is durable at every commit, and others were not to be", hint=hint, code=BAD_JOB)
        if not any(_met(contests, [name])):
            hint = "say --contest tpcc-memory or tpcc-twice-the-pool"
            raise AssayError(f"{name} runs TPC-C alone", hint=hint, code=BAD_JOB)


def _admit_published(name: str, contests: Sequence[Contest]) -> None:
    """Refuses a published program that was not built, or that has nothing for any of the contests."""
    if rivals.published.built(name) is None:
        raise AssayError(f"{name} was not built", hint=f"build it: `assay rivals build {name}`", code=NOT_POSSIBLE)
    if not any(_met(contests, [name])):
        hint = f"it meets ours in {', '.join(rivals.published.read(name).contests())}"
        raise AssayError(f"{name} has nothing for these contests", hint=hint, code=BAD_JOB)


def _save(out: Path, record: Json) -> None:
    save(out, record)


def _tried(
    ring: Ring, contest: Contest, sides: tuple[str, str], size: Size, repeats: int, chance: random.Random
) -> ContestResult | Missing:
    try:
        return _pairs(ring, contest, sides, size, repeats, chance)
    except AssayError as error:
        if error.code == INTERRUPTED:
            raise
        return Missing(contest.name, *sides, error.message, error.hint)


def _pairs(
    ring: Ring, contest: Contest, sides: tuple[str, str], size: Size, repeats: int, chance: random.Random
) -> ContestResult:
    for side in sides:
        ring.load(contest, side)
    readings: tuple[list[Reading], list[Reading]] = ([], [])
    for _ in range(repeats):
        for at in chance.sample((0, 1), 2):
            readings[at].append(ring.measure(contest, sides[at], against=sides[0] if at else None))
    for side, seen in zip(sides, readings, strict=True):
        if not all(one.per_s > 0 and one.cpu_ns > 0 for one in seen):
            hint = "ask for a longer window: --duration"
            raise AssayError(f"{side} did nothing in a window, or used no CPU that was counted", hint=hint, code=FAILED)
    ours, rival = readings
    return ContestResult(
        contest.name,
        *sides,
        pool_bytes(contest, size),
        (ours[0].durability, rival[0].durability),
        ([one.per_s for one in ours], [one.per_s for one in rival]),
        ([one.cpu_ns for one in ours], [one.cpu_ns for one in rival]),
        ([one.verdict for one in ours], [one.verdict for one in rival]),
        size.threads,
        differences(sides[1]),
    )


def differences(rival: str) -> tuple[str, ...]:
    """What is not the same on both sides, as a published program's recipe says it."""
    return tuple(rivals.published.read(rival).differences) if rival in rivals.PUBLISHED else ()
