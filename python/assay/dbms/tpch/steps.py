"""Runs of queries as lines of a progress file, and back: what was measured before a run stopped still counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from assay.dbms.cold import Cleared
from assay.dbms.tpch.engine import PlanNode, QueryPlan, QueryRun
from assay.dbms.tpch.passes import Pass
from assay.dbms.tpch.sample import Sample

Json = dict[str, Any]


def key(one: Pass, repeat: int, query: str) -> Json:
    """What names a step."""
    return {"target": one.place.name, "protocol": one.protocol, "repeat": repeat, "query": query}


def step(one: Pass, repeat: int, sample: Sample, failure: str = "") -> Json:
    """The last run of a query, or why it failed, and where the pass stands after it."""
    found = key(one, repeat, sample.query) | {
        "device": [sample.device_requests, sample.device_bytes, sample.device_busy_s],
        "counters": one.counters.state(),
        "cleared": asdict(one.cleared) if one.cleared else None,
        "warmed": one.warmed,
    }
    if failure:
        return found | {"failure": failure}
    return found | {
        "run": {name: value for name, value in asdict(sample.runs[-1]).items() if name != "rows"},
        "rows": sample.row_count,
        "plan": sample.plans[-1].hash,
        "node": asdict(sample.node) if sample.node else None,
        "wrong": sample.wrong,
    }


def restore(passes: Sequence[Pass], steps: Sequence[Json]) -> None:
    """Fills passes with what was measured before."""
    places = {(one.place.name, one.protocol): one for one in passes}
    for line in steps:
        one = places.get((line.get("target", ""), line.get("protocol", "")))
        if one is not None:
            _take(one, line)


def _take(one: Pass, line: Json) -> None:
    sample = one.samples.setdefault(line["query"], Sample(line["query"]))
    sample.device_requests, sample.device_bytes, sample.device_busy_s = line["device"]
    one.counters.restore(line["counters"])
    one.cleared = Cleared(**line["cleared"]) if line["cleared"] else None
    one.warmed = line["warmed"]
    if "failure" in line:
        sample.failures.append(line["failure"])
        return
    sample.runs.append(QueryRun(**line["run"], rows=[]))
    sample.plans.append(QueryPlan(line["plan"], ""))
    sample.node = PlanNode(**line["node"]) if line["node"] else None
    sample.wrong = sample.wrong or line["wrong"]
    sample.row_count = line["rows"]
    sample.judged = True
