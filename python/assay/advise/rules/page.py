"""Page size for transactions and scans on one drive."""

from __future__ import annotations

from assay.advise.advice import Evidence, Outcome, RuleFinding, Trial, gain
from assay.advise.facts import RuleFacts, ids, where
from assay.advise.rule import Rule
from assay.results import group, pick
from assay.results.group import Point
from assay.units import show

_COMMON = 4096
_ENOUGH = 0.9


def _find(facts: RuleFacts) -> RuleFinding | None:
    """The smallest page whose reads give nearly the bandwidth of the best one, against the smallest one measured."""
    reads = where(facts.lone, lambda one: pick.does(one, "read", "uniform") and pick.direct(one) and one.closed)
    swept = []
    for part in group.by(reads, ("study", "on", "path", "threads", "depth")).values():
        found = [group.point(rows, "bandwidth") for rows in group.by(part, ("size",)).values()]
        points = sorted((one for one in found if one is not None), key=_size)
        points = [one for one in points if _COMMON <= _size(one) <= 262144]
        if len(points) > 1 and _size(points[0]) == _COMMON:
            swept.append(points)
    if not swept:
        return None
    points = max(swept, key=lambda one: (pick.in_flight(one[0].rows[0]), len(one)))
    best = max(one.value for one in points)
    small, chosen = points[0], next(one for one in points if one.value >= _ENOUGH * best)
    if chosen is small:
        chosen = points[1]
    return _told(points, small, chosen)


def _told(points: list[Point], small: Point, chosen: Point) -> RuleFinding:
    found = gain(chosen, small, "the bandwidth of page reads")
    pages = show.block(_size(chosen))
    longer = _wait(chosen) / _wait(small) if _wait(small) else 0.0
    wait = f" A read then takes {show.times(longer)} as long." if longer else ""
    says = f"{pages} pages give {show.times(found.ratio)} the bandwidth of 4 KiB pages.{wait}"
    if found.spans_one:
        says = f"The intervals of these reads overlap: {pages} pages are not shown to give more than 4 KiB pages."
    outcome: Outcome = found.outcome
    if outcome == "advised":
        # What a scan gains a point read pays: only the mix of both decides.
        outcome = "depends"
        says += f" Where scans matter, take {pages}; where single records are read, stay small."
    evidence = tuple(
        Evidence(f"{show.block(_size(one))}: {show.rate(one.value)}, {show.time(_wait(one))} at the median", ids(one))
        for one in points
    )
    return RuleFinding(says, evidence, found, outcome, _trial(chosen))


def _size(point: Point) -> float:
    return float(pick.size(point.rows[0]) or 0)


def _wait(point: Point) -> float:
    found = group.point(point.rows, "service_p50")
    return found.value if found else 0.0


def _trial(chosen: Point) -> Trial:
    return Trial(
        study="dana-page",
        a={"page": "4KiB"},
        b={"page": f"{int(_size(chosen)) // 1024}KiB"},
        settings={"data": "512MiB", "measure": "1s", "depth": 32, "path": "io_uring+direct"},
        metric="bandwidth",
        class_name="read",
    )


RULE = Rule(
    id="page-size",
    title="Choose the page size by the mix of scans and point reads",
    source="Haas, Haubenschild, Leis, CIDR 2020, page sizes: 16 KiB for transactions and scans on one array",
    costs="Larger pages write more per changed record, and hold colder data in the same pool.",
    check="`assay run dana-htap` with both sizes: scan bandwidth and the p99 of point reads side by side.",
    wants="assay run dana-page --profile quick",
    find=_find,
)
