"""Small pages where memory is addressed by the byte."""

from __future__ import annotations

import math

from assay.advise.advice import Evidence, Gain, RuleFinding
from assay.advise.facts import RuleFacts, ids, of_path, where
from assay.advise.rule import Rule
from assay.results import group, labels, pick
from assay.results.group import Point
from assay.results.pick import ALONE
from assay.units import show

_RECORD, _RECORDS = 64, 1e9


def _find(facts: RuleFacts) -> RuleFinding | None:
    """Latency of one page by its size, times the depth of a tree with such nodes (Wu et al., 2020)."""
    reads = where(
        facts.rows,
        lambda one: of_path(one) == "pmem" and pick.does(one, "read", "uniform") and pick.in_flight(one) == 1,
    )
    swept = []
    for part in group.by(reads, ("study", "on", "path")).values():
        found = [group.point(rows, "service_mean") for rows in group.by(part, ("size",)).values()]
        points = sorted((one for one in found if one is not None and _size(one) >= 256), key=_size)
        if len(points) > 1:
            swept.append(points)
    if not swept:
        return None
    points = max(swept, key=len)
    large = min(points, key=lambda one: abs(math.log(_size(one) / 8192)))
    best = min(points, key=_lookup)
    if best is large:
        return RuleFinding(f"{show.block(_size(best))} nodes are best here.", _evidence(points), outcome="no gain here")
    ratio = _lookup(large) / _lookup(best)
    status = labels.worst([best.status, large.status])
    found_gain = Gain(
        ratio, ratio / ALONE, ratio * ALONE, f"the lookups of {show.block(_size(large))} nodes",
        "depth times latency; latencies taken to be within 1.5 times", best.provenance, status,
    )  # fmt: skip
    says = f"Nodes of {show.block(_size(best))} make a tree deeper and each step cheaper; in sum a lookup is shorter."
    return RuleFinding(says, _evidence(points), found_gain)


def _size(point: Point) -> float:
    return float(pick.size(point.rows[0]) or 0)


def _lookup(point: Point) -> float:
    """Nanoseconds of a lookup: levels of a tree over a billion records of 64 bytes, times a page's latency."""
    fanout = _size(point) / _RECORD
    return math.ceil(math.log(_RECORDS) / math.log(fanout)) * point.value


def _evidence(points: list[Point]) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(
            f"{show.block(_size(one))}: {show.time(one.value)} a page, {show.time(_lookup(one))} a lookup", ids(one)
        )
        for one in points
    )


RULE = Rule(
    id="small-pages-dax",
    title="Small pages where memory is addressed by the byte",
    source="Wu et al., DaMoN 2020: 512 B pages 2.5 times as fast as 8 KiB pages on DAX",
    costs="A deeper tree, and more pointers for the same records.",
    check="`assay index run` with both node sizes: lookups a second.",
    wants="assay run lessons-size --on twin:pmem100-512g*2 (or --on a folder on fsdax)",
    find=_find,
)
