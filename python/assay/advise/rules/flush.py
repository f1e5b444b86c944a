"""Move flushes off the critical path."""

from __future__ import annotations

from math import inf
from typing import Any

from assay.advise.advice import Evidence, RuleFinding, Trial, gain, joined
from assay.advise.facts import RuleFacts, ids, pairs, where
from assay.advise.rule import Rule
from assay.results import pick
from assay.results.group import Point
from assay.results.row import Row
from assay.units import show

_SELDOM = 16
"""A flush that so many writes share is off the way of each of them."""
_ALIKE = ("study", "on", "scenario", "class", "operation", "size", "path")


def _find(facts: RuleFacts) -> RuleFinding | None:
    """Scans, point reads and the log in one scenario, once with a flush for each write and once with hardly any."""
    company = where(facts.rows, lambda one: len(one.record["classes"]) > 1)
    flushed = [one for one in company if _flush(one) == "each"]
    free = [one for one in company if _flush(one) == "none"]
    found = [pair for pair in pairs(flushed, free, "bandwidth", _ALIKE) if _may_gain(pair[0].rows[0])]
    if not found:
        return None
    reads = [pair for pair in found if pick.does(pair[0].rows[0], "read")] or found
    says = "What runs beside the log waits for its flushes: the drive stops for everybody until its cache is written."
    return RuleFinding(
        says,
        tuple(Evidence(_said(*pair), ids(*pair)) for pair in found),
        joined([gain(after, before, "the bandwidth beside the log") for before, after in reads]),
        trial=Trial(
            study="dana-flush",
            a={"flush_every": "1"},
            b={"flush_every": "never"},
            settings={"data": "512MiB", "log": "128MiB", "measure": "1s"},
            metric="bandwidth",
            class_name="scan",
        ),
    )


def _flush(one: Row) -> str:
    """How the log of a row's record is flushed: `each`, `none`; empty where it has no log, or few writes share one."""
    shared = [_shared(entry) for entry in _logs(one)]
    if shared and all(writes >= _SELDOM for writes in shared):
        return "none"
    return "each" if shared and all(writes == 1 for writes in shared) else ""


def _logs(one: Row) -> list[Any]:
    """How each log of a row's record is made durable."""
    return [
        asked.get("durability") or {}
        for asked in one.record["job"]["classes"]
        if (asked.get("operation") or {}).get("kind") == "write"
        and (asked.get("pattern") or {}).get("kind") == "sequential"
    ]


def _shared(durability: Any) -> float:
    """How many writes share a flush."""
    return inf if str(durability.get("kind") or "none") == "none" else int(durability.get("every") or 1)


def _may_gain(one: Row) -> bool:
    """A class that met its rate already can gain nothing."""
    return one.closed


def _said(before: Point, after: Point) -> str:
    row = after.rows[0]
    flushed = f"{row.name}: {show.rate(before.value)} beside a log that flushes every write, {show.rate(after.value)}"
    writes = min(map(_shared, _logs(row)), default=inf)
    return f"{flushed} without" if writes == inf else f"{flushed} beside one that flushes once in {writes:g}"


RULE = Rule(
    id="flush-off-path",
    title="Move flushes off the critical path",
    source="Haas, Haubenschild, Leis, CIDR 2020, table 2, steps 1 and 2",
    costs="Commits must become durable otherwise: a drive with power-loss protection, the log's tail in persistent "
    "memory, or group commit. Without one of these, what was acknowledged last is lost at a power cut.",
    check="`assay verify` shows that what was acknowledged survives; the scan's bandwidth beside the log rises.",
    wants="assay run dana-ladder --profile quick",
    find=_find,
)
