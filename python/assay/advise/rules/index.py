"""Which index for this work."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from assay.advise.advice import Evidence, Gain, RuleFinding, joined
from assay.advise.facts import RuleFacts
from assay.advise.rule import Rule
from assay.results import labels
from assay.results.pick import ALONE
from assay.results.work import Work
from assay.units import show

_LAW = "distribution "


def _find(facts: RuleFacts) -> RuleFinding | None:
    """Indexes that did the same work in the same place."""
    groups: dict[tuple[str, ...], dict[str, list[Work]]] = {}
    for one in facts.works:
        if one.kind == "index" and one.rate is not None and one.status != "invalid":
            contestant = f"{one.subject} {one.way}".strip()
            groups.setdefault((one.workload, one.on, *one.problem), {}).setdefault(contestant, []).append(one)
    compared = {key: found for key, found in groups.items() if len(found) > 1}
    if not compared:
        return None
    races = [_race(key, found) for key, found in sorted(compared.items())]
    says = f"{_ahead(races)}. A hash table answers no range scans, so look at what your queries need first."
    return RuleFinding(says, tuple(race.evidence for race in races), joined([race.gain for race in races]))


@dataclass(frozen=True)
class _Race:
    """Indexes at one workload in one place."""

    workload: str
    on: str
    best: str
    evidence: Evidence
    gain: Gain


def _ahead(races: Sequence[_Race]) -> str:
    """Who is ahead where, each with the workloads that it is ahead in."""
    found: dict[tuple[str, str], list[str]] = {}
    for race in races:
        found.setdefault((race.on, race.best), []).append(race.workload)
    places = len({race.on for race in races})
    said = []
    for (on, best), workloads in found.items():
        where = f" on {on}" if places > 1 else ""
        said.append(f"{best} is ahead{where} in {', '.join(dict.fromkeys(workloads))}")
    return "; ".join(said)


def _race(key: tuple[str, ...], found: dict[str, list[Work]]) -> _Race:
    """Who is ahead of whom at one workload in one place."""
    ranked = sorted(found, key=lambda name: _rate(found[name]), reverse=True)
    best, second = ranked[0], ranked[1]
    ratio = _rate(found[best]) / _rate(found[second])
    low, high, kind = _band(found[best], found[second], ratio)
    status = labels.worst([one.status for name in (best, second) for one in found[name]])
    rates = ", ".join(f"{name} {show.count(_rate(found[name]))}" for name in ranked)
    anchors = tuple(one.anchor for name in ranked for one in found[name])
    workload, on, *problem = key
    evidence = Evidence(f"{', '.join([workload, *problem])} on {on}, operations/s: {rates}", anchors)
    gain = Gain(ratio, low, high, "the operations of the next best", kind, found[best][0].provenance, status)
    laws = [one.removeprefix(_LAW) for one in problem if one.startswith(_LAW)]
    return _Race(" of ".join([workload, *(f"{law} keys" for law in laws)]), on, best, evidence, gain)


def _rates(works: Sequence[Work]) -> list[float]:
    return [one.rate[1] for one in works if one.rate is not None]


def _rate(works: Sequence[Work]) -> float:
    return statistics.median(_rates(works))


def _band(best: Sequence[Work], second: Sequence[Work], ratio: float) -> tuple[float, float, str]:
    first, other = _rates(best), _rates(second)
    if len(first) < 2 or len(other) < 2:
        return ratio / ALONE, ratio * ALONE, f"no interval: one run each, taken to be within {ALONE:g} times"
    return min(first) / max(other), max(first) / min(other), f"range of {len(first)} and {len(other)} runs"


RULE = Rule(
    id="index",
    title="Choose the index by the work",
    source="Huang, Imai, Wang, Xie, CIDR 2022: performance per cost of FPTree, BzTree, Dash and indexes on an SSD",
    costs="Hash tables give up order; persistent indexes need memory that is addressed by the byte.",
    check="`assay index run` of both on your key count and mix; then R by `assay cost ratio`.",
    wants="assay index run --index A --out DIR, and the same for B, into one folder",
    find=_find,
)
