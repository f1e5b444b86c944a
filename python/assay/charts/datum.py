"""One drawn figure as a row of data: what is drawn, what a tooltip says and what an export holds."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import altair as alt

from assay.charts.model import Datum
from assay.results import labels, row
from assay.results.group import Point
from assay.units import show

# Fields that serve the drawing alone; exports leave them out.
DRAWING = frozenset(
    {"said", "where", "bounds", "hollow", "bad", "dy", "text", "order", "strong", "head", "joint", "main", "anchor"}
)


def number(value: float) -> float:
    """Six significant digits: more than any figure here deserves."""
    return float(f"{value:.6g}")


def of(point: Point, *, x_name: str, x: Hashable, series: str, panel: str) -> Datum:
    """A point with all that stands against it."""
    unit = row.unit(point.metric)
    interval = point.interval
    return {
        "panel": panel,
        "series": series,
        "x": x if isinstance(x, (int, float)) else labels.value(x_name, x),
        "where": f"{labels.dimension(x_name)} {labels.value(x_name, x)}",
        "metric": point.metric,
        "y": number(point.value),
        "unit": unit,
        "low": number(interval.low) if interval else None,
        "high": number(interval.high) if interval else None,
        "interval": interval.kind if interval else "",
        "runs": len(point.rows),
        "verdict": point.status,
        "provenance": point.provenance,
        "instrument": point.method,
        "cell": point.anchor.removeprefix("cell-"),
        "said": show.figure(point.value, unit),
        "bounds": f"{show.span(interval.low, interval.high, unit)}, {interval.kind}" if interval else "no interval",
        "hollow": point.status == "suspect" or point.weak,
        "bad": point.status == "invalid",
    }


def tooltip() -> list[alt.Tooltip]:
    """What hovering over a mark says."""
    fields = (("series", "series"), ("where", "at"), ("said", "value"), ("bounds", "interval"), ("verdict", "verdict"))
    return [alt.Tooltip(f"{name}:N", title=title) for name, title in (*fields, ("cell", "cell"))]


def span(data: Sequence[Datum]) -> list[float]:
    """All values that an axis must show, bounds of intervals included."""
    fields = ("y", "low", "high")
    return [float(entry[name]) for entry in data for name in fields if isinstance(entry.get(name), (int, float))]


def exported(data: Sequence[Datum]) -> list[dict[str, Any]]:
    """Rows for CSV and Parquet, all with the same columns."""
    columns = list(dict.fromkeys(name for entry in data for name in entry if name not in DRAWING))
    return [{name: entry.get(name) for name in columns} for entry in data]
