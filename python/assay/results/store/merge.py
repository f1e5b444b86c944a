"""Repeats of a cell taken together, and what classes do to each other."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from assay.results.store.flatten import CPU, DISTRIBUTIONS
from assay.results.store.histogram import SUMMARY, merged_summary
from assay.untyped import Json

_STATUS = ("valid", "suspect", "invalid")
_KEPT = (
    *("class", "path", "advice", "operation", "write_percent", "pattern", "size_bytes", "threads", "depth", "batch"),
    *(
        "arrivals",
        "think_s",
        "durability",
        "flush_every",
        "layout",
        "dataset_bytes",
        "cache",
        "poll_sleep_us",
        "provenance",
    ),
)


def cell_rows(classes: Sequence[Json]) -> Iterator[Json]:
    """The rows of the cells table: one per class of a cell, repeats merged through their histograms."""
    groups: dict[tuple[str, str], list[Json]] = {}
    for row in classes:
        groups.setdefault((row["cell"].rpartition("-r")[0], row["class"]), []).append(row)
    for (cell, _), rows in groups.items():
        yield _merged(cell, rows)


def _merged(cell: str, rows: Sequence[Json]) -> Json:
    first = rows[0]
    rates = [row["ops_per_s"] for row in rows]
    middle = statistics.median(rates)
    return {
        "cell": cell,
        "study": first["study"],
        "scenario": first["scenario"],
        **{key: value for key, value in first.items() if key.startswith("factor_")},
        **{key: first[key] for key in _KEPT},
        "repeats": len(rows),
        "status": max((row["status"] for row in rows), key=_STATUS.index),
        "operations": sum(row["operations"] for row in rows),
        "bytes": sum(row["bytes"] for row in rows),
        "bandwidth_bytes_per_s": _mean(rows, "bandwidth_bytes_per_s"),
        "ops_per_s": _mean(rows, "ops_per_s"),
        "ops_per_s_min": min(rates),
        "ops_per_s_max": max(rates),
        "ops_per_s_spread": (max(rates) - min(rates)) / middle if middle > 0 else None,
        "achieved_depth": _mean(rows, "achieved_depth"),
        **{name: _mean(rows, name) for name in CPU},
        **_latencies(rows),
        "objective_metric": first["objective_metric"],
        "objective_bound": first["objective_bound"],
        "objective_met": _all_met(rows),
    }


def _mean(rows: Sequence[Json], column: str) -> float | None:
    values = [row[column] for row in rows if row[column] is not None]
    return statistics.fmean(values) if values else None


def _latencies(rows: Sequence[Json]) -> Json:
    found: Json = {}
    for name in DISTRIBUTIONS:
        parts = [_part(row, name) for row in rows if row[f"{name}_histogram"]]
        summary = merged_summary(parts) if parts else {}
        found |= {f"{name}_{column}": summary.get(column) for column in SUMMARY}
    return found


def _part(row: Json, name: str) -> Json:
    columns = ("count", "min_ns", "mean_ns", "max_ns", "histogram")
    return {column: row[f"{name}_{column}"] for column in columns}


def _all_met(rows: Sequence[Json]) -> bool | None:
    seen = [row["objective_met"] for row in rows if row["objective_met"] is not None]
    return all(seen) if seen else None


def interference_rows(cells: Sequence[Json]) -> Iterator[Json]:
    """The rows of the interference table: each class beside others, compared with the same class alone."""
    alone = {_key(row): row for row in cells if row["scenario"].startswith("alone:")}
    for row in cells:
        if row["scenario"].startswith("alone:") or _key(row) not in alone:
            continue
        yield _compared(row, alone[_key(row)], _others(row, cells))


def _key(row: Json) -> tuple[str, ...]:
    factors = sorted((key, str(value)) for key, value in row.items() if key.startswith("factor_"))
    return (row["study"], row["class"], *(f"{key}={value}" for key, value in factors))


def _others(row: Json, cells: Sequence[Json]) -> str:
    return "+".join(
        other["class"] for other in cells if other["cell"] == row["cell"] and other["class"] != row["class"]
    )


def _compared(row: Json, alone: Json, others: str) -> Json:
    latency = "response" if row["response_p99_ns"] is not None and alone["response_p99_ns"] is not None else "service"
    return {
        "study": row["study"],
        "scenario": row["scenario"],
        **{key: value for key, value in row.items() if key.startswith("factor_")},
        "class": row["class"],
        "beside": others,
        "alone_ops_per_s": alone["ops_per_s"],
        "ops_per_s": row["ops_per_s"],
        "ops_ratio": _ratio(row["ops_per_s"], alone["ops_per_s"]),
        "latency": latency,
        "alone_p50_ns": alone[f"{latency}_p50_ns"],
        "p50_ns": row[f"{latency}_p50_ns"],
        "alone_p99_ns": alone[f"{latency}_p99_ns"],
        "p99_ns": row[f"{latency}_p99_ns"],
        "p99_ratio": _ratio(row[f"{latency}_p99_ns"], alone[f"{latency}_p99_ns"]),
        "objective_met": row["objective_met"],
        "alone_objective_met": alone["objective_met"],
    }


def _ratio(value: float | None, base: float | None) -> float | None:
    return value / base if value is not None and base else None
