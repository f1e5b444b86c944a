"""Records of indexes, engines and databases as rows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from assay.record import Record
from assay.results.store.flatten import DISTRIBUTIONS, SUMMARY, identity
from assay.results.work import Work
from assay.results.work_cell import WHOLE
from assay.untyped import Json


def work_row(cell: str, record: Record, work: Work) -> Json:
    """The row of the works table: one per record."""
    run = work.record["run"]
    return identity(cell, record) | {
        "kind": work.kind,
        "subject": work.subject,
        "subject_version": work.record["subject"]["version"],
        "workload": work.workload,
        "targets": work.on,
        "durability": work.durability,
        "started_at": run["started_at"],
        "wall_s": run["wall_s"],
        "measured_s": work.record.get("measured_s"),
        "rate": work.rate[0] if work.rate else None,
        "rate_per_s": work.rate[1] if work.rate else None,
        "status": work.status,
        "provenance": work.provenance,
        "checks_failed": sum(1 for one in work.record["checks"] if not one["passed"]),
        "settings": json.dumps(work.settings, sort_keys=True),
        "parameters": json.dumps(work.parameters, sort_keys=True),
        "record": work.id,
    }


def figure_rows(cell: str, record: Record, work: Work) -> Iterator[Json]:
    """The rows of the work_figures table: one per figure of the whole, of a part, and of a part's latencies."""
    head = identity(cell, record)
    for name, figure in work.record["figures"].items():
        yield head | _figure(WHOLE, name, figure)
    for part in work.record["parts"]:
        for name, figure in part["figures"].items():
            yield head | _figure(part["name"], name, figure)
        for which in DISTRIBUTIONS:
            yield from (head | row for row in _latencies(part["name"], which, part.get(which), work.provenance))


def _figure(part: str, name: str, figure: Any) -> Json:
    band = figure.get("band") or {}
    kept = {key: figure.get(key) for key in ("value", "unit", "provenance", "method")}
    return {"part": part, "figure": name, "low": band.get("low"), "high": band.get("high")} | kept


def _latencies(part: str, which: str, found: Any, provenance: str) -> Iterator[Json]:
    for column in SUMMARY if isinstance(found, dict) else ():
        value, unit = found.get(column), "count" if column == "count" else "ns"
        if value is not None:
            figure = {"value": float(value), "unit": unit, "provenance": provenance, "method": "loop"}
            yield _figure(part, f"{which}_{column}", figure)
