"""Repeats of one pass of queries as one record: medians of their figures, and all that was found."""

from __future__ import annotations

import copy
import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from assay.record import WorkRecord
from assay.results.work import Work
from assay.untyped import Json

_STATUS = ("valid", "suspect", "invalid")
# What only the last repeat says, of all of them.
_COMPARED = ("compared_with", "compared_in_words")
# What repeats say in words of their own.
_TOLD = (*_COMPARED, "warmed", "emptied")


def together(works: Iterable[Work]) -> list[Work]:
    """Records of queries, one for each place and protocol, under the name of the last repeat; others as they are."""
    groups: dict[str, list[Work]] = {}
    for work in works:
        groups.setdefault(_key(work), []).append(work)
    return [group[0] if len(group) == 1 else _one(group) for group in groups.values()]


def _key(work: Work) -> str:
    if work.workload != "tpch":
        return str(id(work))
    parameters = {name: value for name, value in work.parameters.items() if name not in _TOLD}
    return json.dumps([work.subject, work.settings, parameters, work.record["targets"]], sort_keys=True)


def _one(group: Sequence[Work]) -> Work:
    records = [cast("Json", work.record) for work in group]
    last = max(range(len(records)), key=lambda at: (_COMPARED[0] in group[at].parameters, at))
    found = copy.deepcopy(records[last])
    found["figures"] |= _medians([record["figures"] for record in records])
    for part in found["parts"]:
        same = [one for record in records for one in record["parts"] if one["name"] == part["name"]]
        part["figures"] = _medians([one["figures"] for one in same]) | _ends(same)
        for count in ("succeeded", "failed"):
            part[count] = sum(one[count] for one in same)
    checks = [check for record in records for check in record["checks"]]
    # Of a check that failed in one of them the failure stands.
    checks.sort(key=lambda one: not one["passed"])
    found["checks"] = list({one["name"]: one for one in checks}.values())
    found["verdict"] = _verdict([record["verdict"] for record in records])
    return Work(group[last].id, cast("WorkRecord", found))


def _medians(figures: Sequence[Mapping[str, Any]]) -> Json:
    names = dict.fromkeys(name for one in figures for name in one)
    found = {}
    for name in names:
        seen = [one[name] for one in figures if name in one]
        found[name] = seen[-1] | {"value": statistics.median(float(one["value"]) for one in seen)}
    return found


def _ends(parts: Sequence[Json]) -> Json:
    """The fastest run and the slowest."""
    times = [part["figures"]["time_s"] for part in parts if "time_s" in part["figures"]]
    if not times:
        return {}
    low, high = (pick(times, key=lambda one: float(one["value"])) for pick in (min, max))
    return {"lowest_s": low, "highest_s": high}


def _verdict(verdicts: Sequence[Json]) -> Json:
    reasons = {one["code"]: one for verdict in verdicts for one in verdict["reasons"]}
    return {"status": max((one["status"] for one in verdicts), key=_STATUS.index), "reasons": list(reasons.values())}
