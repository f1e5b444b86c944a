"""Keep more point reads in flight."""

from __future__ import annotations

from assay.advise.advice import Evidence, RuleFinding, Trial, gain
from assay.advise.facts import RuleFacts, ids, of_path, where
from assay.advise.rule import Rule
from assay.results import group, pick
from assay.results.group import Point
from assay.units import show

_ENOUGH = 0.9


def _find(facts: RuleFacts) -> RuleFinding | None:
    reads = where(
        facts.lone, lambda one: pick.does(one, "read", "uniform") and one.closed and pick.cache(one) != "warm"
    )
    curves = []
    for part in group.by(reads, ("study", "on", "path", "size")).values():
        found = [group.point(rows, "ops_rate") for rows in group.by(part, ("threads", "depth")).values()]
        points = sorted((one for one in found if one is not None), key=lambda one: pick.in_flight(one.rows[0]))
        if len(points) > 1 and pick.in_flight(points[0].rows[0]) == 1:
            curves.append(points)
    if not curves:
        return None
    curve = max(curves, key=lambda points: max(one.value for one in points))
    single, knee = curve[0], _knee(curve)
    return RuleFinding(
        f"Lookups that do not depend on each other should be issued together: {pick.in_flight(knee.rows[0])} in flight"
        " are enough here, and beyond that mostly the wait grows.",
        (Evidence(_said(single, knee), ids(single, knee)),),
        gain(knee, single, "the point reads a second"),
        trial=_trial(knee),
    )


def _knee(curve: list[Point]) -> Point:
    """The smallest load that gives nearly all."""
    best = max(one.value for one in curve)
    return next(one for one in curve if one.value >= _ENOUGH * best)


def _said(single: Point, knee: Point) -> str:
    waits = [group.point(point.rows, "service_p99") for point in (single, knee)]
    tail = ""
    if waits[0] is not None and waits[1] is not None:
        tail = f"; p99 {show.time(waits[0].value)} and {show.time(waits[1].value)}"
    return (
        f"{single.rows[0].path_label}: {show.count(single.value)} reads/s one at a time,"
        f" {show.count(knee.value)} with {pick.in_flight(knee.rows[0])} in flight{tail}"
    )


def _trial(knee: Point) -> Trial | None:
    depth = int(knee.rows[0].asked.get("depth") or 1)
    if of_path(knee.rows[0]) != "io_uring" or depth == 1:
        return None
    return Trial(
        study="raw-depth",
        a={"depth": 1},
        b={"depth": depth},
        settings={"data": "512MiB", "measure": "1s", "path": "io_uring+direct", "operation": "read"},
        metric="ops_rate",
        class_name="raw",
    )


RULE = Rule(
    id="reads-in-flight",
    title="Keep several point reads in flight",
    source="Haas, Haubenschild, Leis, CIDR 2020, latency against throughput",
    costs="An asynchronous read path in the engine, and a longer wait of each read: see p99.",
    check="Reads a second rise at the same number of threads; p99 stays within the objective.",
    wants="assay run raw-depth --profile quick",
    find=_find,
)
