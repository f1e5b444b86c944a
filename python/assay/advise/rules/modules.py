"""Cap the threads that write to persistent memory."""

from __future__ import annotations

from assay.advise.advice import Evidence, RuleFinding, gain
from assay.advise.facts import RuleFacts, ids, of_path, where
from assay.advise.rule import Rule
from assay.results import group
from assay.results.group import Point
from assay.units import show


def _find(facts: RuleFacts) -> RuleFinding | None:
    writes = where(
        facts.rows,
        lambda one: (
            of_path(one) == "pmem"
            and len(one.record["classes"]) == 1
            and str((one.asked.get("operation") or {}).get("kind")) in ("write", "mix")
        ),
    )
    swept = []
    for part in group.by(writes, ("study", "on", "pattern", "size", "operation", "path")).values():
        found = [group.point(rows, "bandwidth") for rows in group.by(part, ("threads",)).values()]
        points = sorted((one for one in found if one is not None), key=_threads)
        if len(points) > 2:
            swept.append(points)
    if not swept:
        return None
    points = max(swept, key=lambda one: max(point.value for point in one) / one[-1].value)
    peak, most = max(points, key=lambda one: one.value), points[-1]
    found_gain = gain(peak, most, f"the bandwidth of {_threads(most)} threads")
    real = any(one.provenance == "measured" for one in peak.rows) and "memory" not in _kinds(peak)
    says = f"{_threads(peak)} threads reach the peak of {show.rate(peak.value)}."
    if not real:
        says += " This is a stand-in or a twin: on modules of your own, measure again."
    return RuleFinding(says, tuple(Evidence(_said(one), ids(one)) for one in points), found_gain)


def _threads(point: Point) -> int:
    return int(point.rows[0].asked.get("threads") or 1)


def _kinds(point: Point) -> set[str]:
    return {str(target.get("kind")) for target in point.rows[0].record["job"].get("targets") or ()}


def _said(point: Point) -> str:
    return f"{_threads(point)} threads: {show.rate(point.value)}"


RULE = Rule(
    id="cap-threads",
    title="Cap the threads that write to persistent memory",
    source="Wu et al., DaMoN 2020; Boether et al., DaMoN 2021: 8.5 GiB/s with 8 threads, 6 with 64",
    costs="A queue in front of the writers.",
    check="Bandwidth with the cap is at least that without it, under the same load.",
    wants="assay run lessons-threads --on twin:pmem100-128g*6 (or --on a folder on fsdax)",
    find=_find,
)
