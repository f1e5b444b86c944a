"""Forecasts as work records, and beside what was measured there."""

from __future__ import annotations

import math
from collections.abc import Sequence

from assay.binary import Binary
from assay.dbms.predict.demand import demands, took
from assay.dbms.predict.forecast import Forecast, Hit, against, forecast
from assay.record import WorkRecord
from assay.study.work import WorkDraft, figure, part
from assay.study.work.judge import reason
from assay.untyped import Json


def forecasts(record: WorkRecord, device: str) -> list[Forecast]:
    """What a record's work would take on a device."""
    return [forecast(one, device) for one in demands(record)]


def hits(found: Sequence[Forecast], measured: WorkRecord) -> list[Hit]:
    """Forecasts beside a record that was measured there; of windows, the time that as many operations take there."""
    asked = {one.name: one.operations for one in found}
    seen = {
        one.name: one.wall_s * (asked[one.name] / one.operations if one.operations else 1.0)
        for one in took(measured)
        if one.name in asked
    }
    return against(found, seen)


def record(binary: Binary, source: WorkRecord, device: str, found: Sequence[Forecast]) -> WorkRecord:
    """The forecasts as a record: modelled, with bands."""
    draft = WorkDraft("database", source["subject"]["name"], source["subject"]["version"], source["workload"]["name"])
    draft.settings = dict(source["subject"]["settings"])
    draft.parameters = {**source["workload"]["parameters"], "predicted_from": source["run"]["id"]}
    draft.targets = [{"role": "data", "target": device, "emulated": False}]
    draft.durability = source["durability"]
    draft.parts = [_part(one) for one in found]
    whole = math.fsum(one.seconds for one in found)
    draft.measured_s = whole
    ends = math.fsum(one.low_s for one in found), math.fsum(one.high_s for one in found)
    draft.figures = {"sum_s": figure(whole, "s", "modelled", "derived", ends)}
    for one in found:
        if one.operations:
            rates = [one.operations / seconds for seconds in (one.seconds, one.high_s, one.low_s)]
            draft.figures["ops_per_s"] = figure(rates[0], "ops/s", "modelled", "derived", (rates[1], rates[2]))
    evidence = f"computed from run {source['run']['id']} for {device}; nothing was measured there"
    fix = "run it there, and compare: assay dbms predict ... --against DIR"
    draft.reasons = [reason("modelled-target", "note", evidence, fix)]
    return draft.record(binary)


def _part(one: Forecast) -> Json:
    figures = {
        "time_s": figure(one.seconds, "s", "modelled", "derived", (one.low_s, one.high_s)),
        "measured_here_s": figure(one.measured_s, "s"),
    }
    return part(one.name, figures)
