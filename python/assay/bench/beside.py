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
from assay.bench.contest import SERVERS, Contest, Ring, Size, can_meet, pool_bytes
from assay.bench.pairs import Ratio, ratio
from assay.dbms.postgres.user import server_user
from assay.error import BAD_JOB, INTERRUPTED, NOT_POSSIBLE, AssayError
from assay.study.work import save

Json = dict[str, Any]


@dataclass(frozen=True)
class Result:
    """One of ours and one rival in one contest."""

    contest: str
    ours: str
    rival: str
    pool_bytes: int
    durability: tuple[str, str]
    per_s: tuple[list[float], list[float]]
    cpu_ns: tuple[list[float], list[float]]
    verdicts: tuple[list[str], list[str]]

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
    on: Path,
    out: Path | None,
    listen: Callable[[str], None],
) -> Iterator[Result | Missing]:
    """Each contest, each of ours beside each rival; where a run fails, why, and the others go on.

    Raises:
        AssayError: where a rival was not built, or somebody interrupts.
    """
    chosen = list(names) or [str(one["name"]) for one in rivals.listed()]
    if not chosen:
        raise AssayError("no rival was built", hint="build some: `assay rivals build lmdb redb`", code=NOT_POSSIBLE)
    _admit(chosen, contests, size)
    chance = random.Random(size.seed)  # noqa: S311  The order of runs.
    owner = server_user().owner if any(name in SERVERS for name in chosen) else None
    folder = own.make(on, "assay-rivals-", owner[0] if owner is not None else None)
    ring = Ring(folder, size, lambda record: None if out is None else _save(out, record))
    try:
        for contest in contests:
            for ours in contest.ours:
                for rival in (one for one in chosen if can_meet(contest, one)):
                    listen(f"{contest.name}: {ours} beside {rival}")
                    yield _tried(ring, contest, (ours, rival), size, repeats, chance)
    finally:
        ring.close()
        own.remove(folder)


def _admit(names: Sequence[str], contests: Sequence[Contest], size: Size) -> None:
    """Refuses a rival that is not there, or that nothing can be asked of."""
    for name in names:
        if name not in SERVERS:
            rivals.program(name)
            continue
        if size.durability != "fsync":
            hint = "say --durability fsync: both are then durable at every commit"
            raise AssayError(f"{name} is durable at every commit, and others were not to be", hint=hint, code=BAD_JOB)
        if not any(can_meet(contest, name) for contest in contests):
            hint = "say --contest tpcc-memory or tpcc-twice-the-pool"
            raise AssayError(f"{name} runs TPC-C alone", hint=hint, code=BAD_JOB)


def _save(out: Path, record: Json) -> None:
    save(out, record)


def _tried(
    ring: Ring, contest: Contest, sides: tuple[str, str], size: Size, repeats: int, chance: random.Random
) -> Result | Missing:
    try:
        return _pairs(ring, contest, sides, size, repeats, chance)
    except AssayError as error:
        if error.code == INTERRUPTED:
            raise
        return Missing(contest.name, *sides, error.message, error.hint)


def _pairs(
    ring: Ring, contest: Contest, sides: tuple[str, str], size: Size, repeats: int, chance: random.Random
) -> Result:
    for side in sides:
        ring.load(contest, side)
    records: dict[str, list[Json]] = {side: [] for side in sides}
    for _ in range(repeats):
        for side in chance.sample(sides, 2):
            records[side].append(ring.measure(contest, side))
    ours, rival = (records[side] for side in sides)
    return Result(
        contest.name,
        *sides,
        pool_bytes(contest, size),
        (str(ours[0]["durability"]), str(rival[0]["durability"])),
        ([_per_s(one) for one in ours], [_per_s(one) for one in rival]),
        ([_cpu_ns(one) for one in ours], [_cpu_ns(one) for one in rival]),
        ([_verdict(one) for one in ours], [_verdict(one) for one in rival]),
    )


def _per_s(record: Json) -> float:
    figures = record["figures"]
    name = "transactions_per_s" if "transactions_per_s" in figures else "succeeded_per_s"
    return float(figures[name]["value"])


def _cpu_ns(record: Json) -> float:
    """User and kernel time of the whole process, background threads included, for one operation."""
    cpu = record["cpu"]
    done = sum(one["succeeded"] + one["empty"] for one in record["parts"])
    return (float(cpu["user_s"]["value"]) + float(cpu["kernel_s"]["value"])) * 1e9 / max(1, int(done))


def _verdict(record: Json) -> str:
    failed = [one["name"] for one in record["checks"] if not one["passed"]]
    return f"check {failed[0]} failed" if failed else str(record["verdict"]["status"])
