"""The columns of every table and their types, and writing them as Parquet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from assay.results.files import write_atomically
from assay.results.store.flatten import CPU, DISTRIBUTIONS, SUMMARY, SUMMARY_EXTRA
from assay.results.store.histogram import SUMMARY as MERGED_SUMMARY
from assay.untyped import Json

_TEXT, _WHOLE, _REAL, _TRUTH = pa.string(), pa.int64(), pa.float64(), pa.bool_()
_TYPES = {"histogram": _TEXT, "mean_ns": _REAL, "stdev_ns": _REAL, "supported_percentile": _REAL}

_IDENTITY = {"run_id": _TEXT, "cell": _TEXT, "study": _TEXT, "scenario": _TEXT, "repeat": _WHOLE}
_ASKED = {
    **dict.fromkeys(("path", "advice", "operation", "pattern", "arrivals", "durability", "layout", "cache"), _TEXT),
    **dict.fromkeys(
        ("write_percent", "threads", "depth", "batch", "flush_every", "dataset_bytes", "poll_sleep_us"), _WHOLE
    ),
    **dict.fromkeys(("size_bytes", "think_s"), _REAL),
}
_CPU = dict.fromkeys(CPU, _REAL)
_OBJECTIVE = {"objective_metric": _TEXT, "objective_bound": _REAL, "objective_met": _TRUTH}


def _summary(columns: Sequence[str]) -> dict[str, pa.DataType]:
    return {f"{name}_{column}": _TYPES.get(column, _WHOLE) for name in DISTRIBUTIONS for column in columns}


COLUMNS: dict[str, dict[str, pa.DataType]] = {
    "runs": {
        **_IDENTITY,
        **dict.fromkeys(("name", "started_at", "stop", "cache", "status", "scaled", "host", "kernel"), _TEXT),
        **dict.fromkeys(("virtualisation", "cpu_model", "target_paths", "file_system", "device_model"), _TEXT),
        **dict.fromkeys(("wall_s", "prepare_s", "warmup_s", "measured_s", "clock_drift"), _REAL),
        **dict.fromkeys(("edge_skew_ns", "seed", "cpus", "memory_bytes"), _WHOLE),
        **{f"process_{name}": _REAL for name in CPU},
        **dict.fromkeys(("device_read_bytes", "device_written_bytes", "device_flushes"), _REAL),
        "assayer_version": _TEXT,
    },
    "classes": {
        **_IDENTITY,
        "class": _TEXT,
        "status": _TEXT,
        **_ASKED,
        **dict.fromkeys(("operations", "reads", "writes", "bytes", "asked_depth", "errors"), _WHOLE),
        **dict.fromkeys(("bandwidth_bytes_per_s", "ops_per_s", "asked_rate_ops_per_s", "achieved_depth"), _REAL),
        **_CPU,
        "cycles_method": _TEXT,
        "cycles_counted_by": _TEXT,
        **dict.fromkeys(("device_read_bytes", "device_written_bytes", "null_ops_per_s", "generator_share"), _REAL),
        "provenance": _TEXT,
        **_summary((*SUMMARY, *SUMMARY_EXTRA)),
        **_OBJECTIVE,
        "objective_seen": _REAL,
        "check_blocks": _WHOLE,
        "check_wrong": _WHOLE,
    },
    "intervals": {
        **_IDENTITY,
        "class": _TEXT,
        "at_s": _REAL,
        "length_s": _REAL,
        "operations": _WHOLE,
        "bytes": _WHOLE,
        "bandwidth_bytes_per_s": _REAL,
        "ops_per_s": _REAL,
        "mean_ns": _REAL,
        "p50_ns": _WHOLE,
        "p99_ns": _WHOLE,
        "max_ns": _WHOLE,
    },
    "verdicts": {
        **_IDENTITY,
        **dict.fromkeys(("status", "code", "severity", "class", "evidence", "fix", "numbers"), _TEXT),
    },
    "not_measured": {**_IDENTITY, **dict.fromkeys(("state", "what", "reason", "fix"), _TEXT)},
    "cells": {
        "cell": _TEXT,
        "study": _TEXT,
        "scenario": _TEXT,
        "class": _TEXT,
        **_ASKED,
        "provenance": _TEXT,
        "repeats": _WHOLE,
        "status": _TEXT,
        "operations": _WHOLE,
        "bytes": _WHOLE,
        **dict.fromkeys(("bandwidth_bytes_per_s", "ops_per_s", "ops_per_s_min", "ops_per_s_max"), _REAL),
        "ops_per_s_spread": _REAL,
        "achieved_depth": _REAL,
        **_CPU,
        **_summary(MERGED_SUMMARY),
        **_OBJECTIVE,
    },
    "works": {
        **_IDENTITY,
        **dict.fromkeys(("kind", "subject", "subject_version", "workload", "targets", "durability"), _TEXT),
        "started_at": _TEXT,
        **dict.fromkeys(("wall_s", "measured_s"), _REAL),
        "rate": _TEXT,
        "rate_per_s": _REAL,
        **dict.fromkeys(("status", "provenance"), _TEXT),
        "checks_failed": _WHOLE,
        **dict.fromkeys(("settings", "parameters", "record"), _TEXT),
    },
    "work_figures": {
        **_IDENTITY,
        **dict.fromkeys(("part", "figure"), _TEXT),
        **dict.fromkeys(("value", "low", "high"), _REAL),
        **dict.fromkeys(("unit", "provenance", "method"), _TEXT),
    },
    "interference": {
        **dict.fromkeys(("study", "scenario", "class", "beside", "latency"), _TEXT),
        **dict.fromkeys(("alone_ops_per_s", "ops_per_s", "ops_ratio", "p99_ratio"), _REAL),
        **dict.fromkeys(("alone_p50_ns", "p50_ns", "alone_p99_ns", "p99_ns"), _WHOLE),
        **dict.fromkeys(("objective_met", "alone_objective_met"), _TRUTH),
    },
}
"""Columns of every table with their types. A `factor_<name>` column follows for each factor of the studies."""

TABLES = tuple(COLUMNS)


def write(directory: Path, name: str, rows: Sequence[Json]) -> None:
    """Writes a table of a result folder atomically."""
    table = to_table(name, rows)
    write_atomically(directory / f"{name}.parquet", lambda draft: pq.write_table(table, draft, compression="zstd"))


def to_table(name: str, rows: Sequence[Json]) -> pa.Table:
    """Rows as a table with the declared columns, then the factors of the studies."""
    factors = sorted({key for row in rows for key in row if key.startswith("factor_")})
    typed = {factor: _factor(factor, rows) for factor in factors}
    columns = {column: pa.array([row.get(column) for row in rows], kind) for column, kind in COLUMNS[name].items()}
    return pa.table(columns | typed)


def _factor(column: str, rows: Sequence[Json]) -> pa.Array:
    """Values of a factor: whole numbers or numbers where all are, otherwise text."""
    texts = [row.get(column) for row in rows]
    for convert, kind in ((int, _WHOLE), (float, _REAL)):
        try:
            return pa.array([None if text is None else convert(text) for text in texts], kind)
        except (ValueError, OverflowError):
            continue
    return pa.array(texts, _TEXT)
