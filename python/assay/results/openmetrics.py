"""Figures of a result folder as OpenMetrics text, which Prometheus and its kin read."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from assay.results.folder import Cell, Folder
from assay.results.row import Row, rows

# Name, figure of a record, its factor to the base unit, help.
_GAUGES = (
    ("assay_operations_per_second", "ops_rate", 1.0, "Operations per second."),
    ("assay_bandwidth_bytes_per_second", "bandwidth", 1.0, "Bytes per second."),
    ("assay_cycles_per_operation", "cycles_per_op", 1.0, "CPU cycles per operation, kernel included."),
)
_QUANTILES = (("0.5", "service_p50"), ("0.99", "service_p99"), ("0.999", "service_p999"))
_STATUS = {"valid": 0, "suspect": 1, "invalid": 2}


def text(folder: Folder) -> str:
    """All figures, with the time at which each cell ran; ends as the format wants it."""
    return "\n".join([*_lines(folder), "# EOF"]) + "\n"


def _lines(folder: Folder) -> Iterator[str]:
    found = rows(folder.cells)
    for name, metric, factor, help_ in _GAUGES:
        yield from _head(name, help_)
        yield from (_sample(name, one, value * factor) for one in found if (value := one.metric(metric)) is not None)
    name = "assay_latency_seconds"
    yield from _head(name, "Service time: from submission to completion.", unit="seconds")
    for one in found:
        for quantile, metric in _QUANTILES:
            if (value := one.metric(metric)) is not None and one.supported(metric):
                yield _sample(name, one, value / 1e9, quantile=quantile)
    name = "assay_verdict"
    yield from _head(name, "0 valid, 1 suspect, 2 invalid.")
    yield from (_sample(name, one, _STATUS.get(one.status, 2)) for one in found)


def _head(name: str, help_: str, unit: str = "") -> Iterator[str]:
    yield f"# TYPE {name} gauge"
    if unit:
        yield f"# UNIT {name} {unit}"
    yield f"# HELP {name} {help_}"


def _sample(name: str, one: Row, value: float, **more: str) -> str:
    labels = _labels(one) | more
    said = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
    return f"{name}{{{said}}} {value!r}{_at(one.cell)}"


def _labels(one: Row) -> dict[str, str]:
    environment = one.record["environment"]
    return {
        "study": one.cell.study,
        "cell": one.cell.id.rpartition("-r")[0] or one.cell.id,
        "repeat": str(one.cell.repeat),
        "class": one.name,
        "path": one.path_label,
        "on": str(one.dimension("on") or ""),
        "host": str(environment.get("host") or ""),
        "provenance": one.provenance,
        "verdict": one.status,
    }


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\u00a0", " ")


def _at(cell: Cell) -> str:
    """Seconds since the epoch; nothing where the record does not say."""
    started = str(((cell.record or {}).get("run") or {}).get("started_at") or "")
    try:
        return f" {datetime.fromisoformat(started).timestamp():.3f}"
    except ValueError:
        return ""
