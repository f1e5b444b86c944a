"""Which index for this work."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from assay.advise.advice import ALONE, Evidence, Finding, Gain, joined
from assay.advise.facts import Facts
from assay.advise.rule import Rule
from assay.report import labels, units
from assay.report.work import Work


def _find(facts: Facts) -> Finding | None:
    """Indexes that did the same work in the same place."""
    groups: dict[tuple[str, ...], dict[str, list[Work]]] = {}
    for one in facts.works:
        if one.kind == "index" and one.rate is not None and one.status != "invalid":
            groups.setdefault((one.workload, one.on, *one.problem), {}).setdefault(one.subject, []).append(one)
    compared = {key: found for key, found in groups.items() if len(found) > 1}
    if not compared:
        return None
    races = [_race(key[0], found) for key, found in sorted(compared.items())]
    ahead = ", ".join(f"{best} is ahead in {workload}" for workload, best in dict.fromkeys((r[0], r[1]) for r in races))
    says = f"{ahead}. A hash table answers no range scans, so look at what your queries need first."
    return Finding(says, tuple(one for race in races for one in race[2]), joined([race[3] for race in races]))


def _race(workload: str, found: dict[str, list[Work]]) -> tuple[str, str, list[Evidence], Gain]:
    """Who is ahead of whom at one workload in one place."""
    ranked = sorted(found, key=lambda name: _rate(found[name]), reverse=True)
    best, second = ranked[0], ranked[1]
    ratio = _rate(found[best]) / _rate(found[second])
    low, high, kind = _band(found[best], found[second], ratio)
    status = labels.worst([one.status for name in (best, second) for one in found[name]])
    rates = ", ".join(f"{name} {units.count(_rate(found[name]))}" for name in ranked)
    anchors = tuple(one.anchor for name in ranked for one in found[name])
    evidence = Evidence(f"{workload} on {found[best][0].on}, operations/s: {rates}", anchors)
    gain = Gain(ratio, low, high, "the operations of the next best", kind, found[best][0].provenance, status)
    return workload, best, [evidence], gain


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
