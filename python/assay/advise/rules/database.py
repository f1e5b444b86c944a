"""What faster storage gives a database or an engine."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from assay.advise.advice import Evidence, Gain, Outcome, RuleFinding, joined
from assay.advise.facts import RuleFacts
from assay.advise.rule import Rule
from assay.results import labels
from assay.results.pick import ALONE
from assay.results.work import Work
from assay.units import show


def _find(facts: RuleFacts) -> RuleFinding | None:
    """The same work of the same subject on memory and on a drive: what the best storage could give at most."""
    found = []
    for part in _groups([one for one in facts.works if one.kind != "index" and one.status != "invalid"]).values():
        drive = [one for one in part if one.medium == "drive"]
        memory = [one for one in part if one.medium == "memory"]
        if drive and memory:
            found.append((drive, memory))
    if not found:
        return None
    gains = [_gain(drive, memory) for drive, memory in found]
    middle = joined(gains)
    outcomes = {one.outcome for one in gains}
    outcome: Outcome = middle.outcome if len(outcomes) == 1 else "depends"
    says = {
        "advised": "Storage is a good part of what this database waits for.",
        "depends": "Some of this work may gain and some may not: it depends on how much of it has to be read.",
    }.get(outcome, "Memory in the place of the drive gains little: the time goes elsewhere (CPU, locks, plans).")
    return RuleFinding(says, tuple(_evidence(*pair) for pair in found), middle, outcome)


def _groups(works: Sequence[Work]) -> dict[tuple[str, ...], list[Work]]:
    found: dict[tuple[str, ...], list[Work]] = {}
    for one in works:
        if one.rate is not None:
            found.setdefault((one.subject, one.workload, one.durability, *one.problem), []).append(one)
    return found


def _rates(works: Sequence[Work]) -> list[float]:
    return [one.rate[1] for one in works if one.rate is not None]


def _gain(drive: Sequence[Work], memory: Sequence[Work]) -> Gain:
    first, other = _rates(memory), _rates(drive)
    ratio = statistics.median(first) / statistics.median(other)
    low, high = min(first) / max(other), max(first) / min(other)
    kind = f"range of {len(other)} and {len(first)} runs"
    if len(first) < 2 or len(other) < 2:
        low, high, kind = ratio / ALONE, ratio * ALONE, f"one run each, taken to be within {ALONE:g} times"
    status = labels.worst([one.status for one in (*drive, *memory)])
    return Gain(ratio, low, high, "the rate of the same work", kind, "emulated", status)


def _evidence(drive: Sequence[Work], memory: Sequence[Work]) -> Evidence:
    name = next(one.rate[0] for one in drive if one.rate is not None).replace("_per_s", "/s")
    rates = [show.count(statistics.median(_rates(side))) for side in (drive, memory)]
    problem = ", ".join(("", *drive[0].problem))
    return Evidence(
        f"{drive[0].subject}, {drive[0].workload}{problem}: {rates[0]} {name} on a drive, {rates[1]} on memory",
        tuple(one.anchor for one in (*drive, *memory)),
    )


RULE = Rule(
    id="faster-storage",
    title="Buy faster storage for this database",
    source="Boether et al., DaMoN 2021 (queries 1 to 10.4 times); Fedorova 2019: two layers of cache hide the device",
    costs="The price of the storage; memory stands for the best there could be, so the gain is an upper end.",
    check="The same run with its data on the storage in question; `assay dbms predict` on a twin of it.",
    wants="assay dbms tpcc with the data on a drive and on tmpfs, both into one folder",
    find=_find,
)
