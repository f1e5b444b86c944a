"""Recycle log files."""

from __future__ import annotations

from assay.advise.advice import Evidence, RuleFinding, Trial, gain, joined
from assay.advise.facts import RuleFacts, ids, pairs, sizes, where
from assay.advise.rule import Rule
from assay.results import group, pick
from assay.results.group import Point
from assay.results.row import Row
from assay.units import show


def _find(facts: RuleFacts) -> RuleFinding | None:
    appends = where(facts.lone, _durable)
    growing = [one for one in appends if pick.layout(one) == "grow"]
    recycled = [one for one in appends if pick.layout(one) == "written"]
    found = list(pairs(_keyed(growing), _keyed(recycled), "ops_rate"))
    if not found:
        return None
    worst = min(found, key=lambda pair: pick.size(pair[0].rows[0]) or 0)
    says = "A durable append to a file that is already written costs no change of metadata; to a growing file it does."
    return RuleFinding(
        says,
        tuple(Evidence(_said(*pair), ids(*pair)) for pair in found),
        joined([gain(new, old, "the durable appends a second") for old, new in found]),
        trial=_trial(worst[0]),
    )


def _durable(one: Row) -> bool:
    durable = pick.durability(one)
    return (
        pick.does(one, "write", "sequential") and durable["kind"] == "fdatasync" and int(durable.get("every") or 1) == 1
    )


def _keyed(rows: list[Row]) -> list[Row]:
    """The same path on both sides; several studies may hold the same append."""
    return [one for one in rows if one.closed and str((one.asked.get("path") or {}).get("kind")) == "pread"]


def _said(growing: Point, recycled: Point) -> str:
    one = growing.rows[0]
    times = [_median(point) for point in (growing, recycled)]
    took = f": {show.time(times[0])} against {show.time(times[1])} at the median" if all(times) else ""
    return (
        f"{sizes(one)}, {one.asked.get('threads', 1)} thread(s): {show.count(growing.value)}/s to a growing file,"
        f" {show.count(recycled.value)}/s to a recycled one{took}"
    )


def _median(point: Point) -> float:
    found = group.point(point.rows, "service_p50")
    return found.value if found else 0.0


def _trial(point: Point) -> Trial:
    size = pick.size(point.rows[0]) or 8192
    return Trial(
        study="drop-in-log",
        a={"log_file": "new file"},
        b={"log_file": "recycled"},
        settings={"entry_bytes": f"{size}B", "threads": 1, "log": "128MiB", "measure": "1s"},
        metric="ops_rate",
        class_name="wal",
    )


RULE = Rule(
    id="recycle-logs",
    title="Recycle log files",
    source="Boether, Kissig, Benson, Rabl, DaMoN 2021: 3.1 times on a drive, 3.8 on four, 14.1 on persistent memory",
    costs="Room for log files that are kept, and the one time that they are written full.",
    check="After the change the same workload shows fewer device writes per commit and a lower p50 of the commit.",
    wants="assay run drop-in-log --profile quick",
    find=_find,
)
