"""Runs of wtperf beside each other: repeats that lie apart, and each target against the first."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from assay.dbms.wtperf import parse
from assay.record import WorkRecord
from assay.stats.correction import adjusted
from assay.stats.welch import LEVEL, welch
from assay.study.work import figure
from assay.study.work.judge import added, reason

# As the verdict noisy-machine has it.
SPREAD = 0.15


class _Side:
    """The repeats of a workload on a target."""

    def __init__(self, records: Sequence[WorkRecord]) -> None:
        self.records = records
        self.last = records[-1]
        self.target = _target(records[0])
        self.workload = str(records[0]["workload"]["name"])

    def rates(self, kind: str) -> list[float]:
        """Operations of a kind per second, of every run."""
        parts = [one for record in self.records for one in record["parts"] if one["name"] == kind]
        return [float(one["figures"]["ops_per_s"]["value"]) for one in parts]

    def busy(self) -> str:
        shares = [float(one["utilisation"]["value"]) for record in self.records for one in record["devices"]]
        return f"{max(shares):.0%} of the time" if shares else "an unknown part of the time"


def _target(record: WorkRecord) -> str:
    return next(str(one["target"]) for one in record["targets"] if one["role"] == "data")


def note(records: Sequence[WorkRecord]) -> list[WorkRecord]:
    """Writes into records of one mode of the page cache, oldest first, what they say together; those that changed."""
    groups: dict[tuple[str, str], list[WorkRecord]] = {}
    for record in records:
        groups.setdefault((str(record["workload"]["name"]), _target(record)), []).append(record)
    sides = [_Side(group) for group in groups.values()]
    noisy = [record for side in sides for record in _spread(side)]
    return [*noisy, *(one for one in _compared(sides) if not any(one is other for other in noisy))]


def _spread(side: _Side) -> list[WorkRecord]:
    for kind in parse.KINDS:
        rates = side.rates(kind)
        if len(rates) > 1 and max(rates) / min(rates) - 1 > SPREAD:
            evidence = f"{kind} operations per second spread by {max(rates) / min(rates) - 1:.0%} over the repeats"
            found = reason("noisy-machine", "suspect", evidence, "make the machine quiet, or take more repeats")
            for record in side.records:
                record["verdict"] = added(record["verdict"], found)
            return list(side.records)
    return []


def _compared(sides: Sequence[_Side]) -> list[WorkRecord]:
    """Each with the first target, kind by kind; corrected over all kinds of all workloads."""
    first: dict[str, _Side] = {}
    for side in sides:
        first.setdefault(side.workload, side)
    pairs = [
        (side, first[side.workload], kind)
        for side in sides
        for kind in parse.KINDS
        if side is not first[side.workload] and side.rates(kind) and first[side.workload].rates(kind)
    ]
    raw = [welch(base.rates(kind), side.rates(kind)) for side, base, kind in pairs]
    tested = [n for n, p in enumerate(raw) if p is not None]
    fixed = dict(zip(tested, adjusted([raw[n] or 0.0 for n in tested]), strict=True))
    for n, (side, base, kind) in enumerate(pairs):
        _note(side, base, kind, fixed.get(n))
    return list({id(side.last): side.last for side, _, _ in pairs}.values())


def _note(side: _Side, base: _Side, kind: str, p: float | None) -> None:
    ratio = statistics.median(side.rates(kind)) / statistics.median(base.rates(kind))
    entry = next((one for one in side.last["parts"] if one["name"] == kind), None)
    if entry is None:
        return
    entry["figures"]["of_first_ratio"] = figure(ratio, "ratio", method="derived")
    entry["facts"] = (entry.get("facts") or {}) | {"against_first": _words(ratio, p, side, base)}
    side.last["workload"]["parameters"]["compared_with"] = base.target


def _words(ratio: float, p: float | None, side: _Side, base: _Side) -> str:
    told = f"{ratio:.2f}x the rate on {base.target}"
    if p is None:
        return f"{told}; not tested: it takes 3 runs on each side"
    if p < LEVEL:
        return f"{told} (p = {p:.2g})"
    # Devices that nobody asked for anything cannot differ: say how much they were used.
    used = f"the devices were busy {side.busy()} here and {base.busy()} on {base.target}"
    return f"{told} (p = {p:.2g}): no difference shown; {used}"
