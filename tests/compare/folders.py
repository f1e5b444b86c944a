"""Result folders with figures that a test chooses."""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from assay.untyped import Json

_EPOCH = datetime(2026, 3, 14, tzinfo=UTC).timestamp()


@dataclass
class Made:
    """A cell with one value for each repeat. `at` are starts in seconds; each run lasts half a second."""

    values: Sequence[float]
    at: Sequence[float]
    name: str = "scan-0001"
    factors: Json = field(default_factory=lambda: {"threads": 4})
    provenance: str = "measured"
    band: float | None = None
    status: dict[int, tuple[str, str]] = field(default_factory=dict)
    environment: Json = field(default_factory=dict)
    closed: bool = True
    version: int = 1
    supported: float = 99.0
    run_ids: str = ""
    planned: int = 0


def figure(value: float, unit: str, provenance: str) -> Json:
    return {"value": value, "unit": unit, "provenance": provenance, "method": "loop"}


def write(directory: Path, *cells: Made) -> Path:
    """Writes plan.json, study.json and the records."""
    (directory / "records").mkdir(parents=True)
    plan = []
    for made in cells:
        plan += [_planned(made, repeat) for repeat in range(1, max(made.planned, len(made.values)) + 1)]
        for repeat in range(1, len(made.values) + 1):
            document = record(made, repeat, directory)
            (directory / "records" / f"{made.name}-r{repeat}.json").write_text(json.dumps(document))
    (directory / "plan.json").write_text(json.dumps({"version": 1, "cells": plan}))
    (directory / "study.json").write_text(json.dumps({"version": 1, "studies": [{"name": "scan", "title": "Scan"}]}))
    return directory


def _planned(made: Made, repeat: int) -> Json:
    head = {"id": f"{made.name}-r{repeat}", "study": "scan", "scenario": "all", "repeat": repeat}
    return head | {"factors": made.factors}


def record(made: Made, repeat: int, directory: Path) -> Json:
    value, at = made.values[repeat - 1], made.at[repeat - 1]
    started = datetime.fromtimestamp(_EPOCH + at, UTC).isoformat(timespec="milliseconds")
    severity, code = made.status.get(repeat, ("", ""))
    reasons = [{"code": code, "severity": severity, "evidence": "It was seen.", "fix": "Mend it."}] if code else []
    asked = {"name": "scan", "dataset": "data", "path": {"kind": "pread"}, "operation": {"kind": "read"}, "size": 4096,
             "pattern": {"kind": "uniform"}, "threads": 4, "depth": 1}  # fmt: skip
    return {
        "version": made.version,
        "run": {"id": f"{made.run_ids or directory.name}-{made.name}-{repeat}", "started_at": started, "wall_s": 0.5,
                "assayer_version": "0.1.0", "prepare_s": 0.0},
        "job": {"version": 1, "name": made.name, "classes": [asked], "datasets": [], "targets": [],
                "labels": {"study": "scan", "repeat": str(repeat)}},
        "environment": _environment(made.environment),
        "window": {"warmup_s": 0.0, "measured_s": 0.4, "stop": "limit"},
        "classes": [_result(value, made)],
        "process_cpu": {},
        "devices": [],
        "not_measured": [],
        "verdict": {"status": severity or "valid", "reasons": reasons},
    }  # fmt: skip


def _environment(more: Json) -> Json:
    found: Json = {
        "host": "here",
        "kernel": "6.1",
        "cpu": {"model": "CPU", "governor": "performance"},
        "load_average": 0,
    }
    found["targets"] = [{"target": "main", "path": "/data", "device": {"name": "nvme0n1", "firmware": "1.0"},
                         "file_system": {"kind": "ext4", "options": "rw", "free_bytes": 5}}]  # fmt: skip
    for path, value in more.items():
        place = found
        *holders, last = path.split(".")
        for name in holders:
            place = place[name][0] if isinstance(place[name], list) else place[name]
        place[last] = deepcopy(value)
    return found


def _result(value: float, made: Made) -> Json:
    latency = {"count": 10_000, "min_ns": 1, "mean_ns": 1e9 / value, "max_ns": 10**9, "provenance": made.provenance}
    latency |= {"p50_ns": round(1e9 / value), "p99_ns": round(3e9 / value), "supported_percentile": made.supported}
    return {
        "name": "scan",
        "operations": 10_000,
        "bandwidth": figure(value * 4096, "bytes/s", made.provenance),
        "ops_rate": figure(value, "ops/s", made.provenance)
        | ({"band": {"low": value / made.band, "high": value * made.band}} if made.band else {}),
        "service": latency,
        "cpu": {"cycles_per_op": figure(9000.0 * 1000 / value, "cycles/op", made.provenance)},
        "intervals": [],
    }
