"""Time series of a run, with the places where its level changes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import altair as alt

from assay.charts import axes, datum, marks, theme
from assay.charts.model import Datum, Figure, Key, Layer, Panel
from assay.charts.palette import Palette
from assay.report.figures.choose import View
from assay.results import labels, row, sample
from assay.results.change import segments
from assay.results.row import Row
from assay.units import show

HEIGHT = 220
_COLUMNS = {"service_mean": "mean_ns", "service_p50": "p50_ns", "service_p99": "p99_ns", "service_max": "max_ns"}


def values(one: Row, metric: str) -> tuple[list[float], list[float]]:
    """Times in seconds and values of a metric of a row's series; empty where the series has no such metric."""
    name = row.canonical(metric)
    entries = [entry for entry in one.result.get("intervals") or () if float(entry.get("length_s") or 0) > 0]
    at = [float(entry["at_s"]) for entry in entries]
    if name in {"bandwidth", "ops_rate"}:
        amounts = [entry["bytes"] if name == "bandwidth" else entry["operations"] for entry in entries]
        return at, [float(n) / float(entry["length_s"]) for n, entry in zip(amounts, entries, strict=True)]
    column = _COLUMNS.get(name)
    return (at, [float(cast("dict[str, float]", entry)[column]) for entry in entries]) if column else ([], [])


def draw(view: View, palette: Palette) -> Figure | None:
    """The figure: one panel for each cell, one line for each class."""
    ask = view.ask
    firsts = [one for one in view.rows if one.cell.repeat == min(other.cell.repeat for other in view.rows)]
    parts = [(title, [one for one in rows if one in firsts]) for title, rows in view.panels()]
    parts = [(title, rows) for title, rows in parts if any(values(one, ask.y)[0] for one in rows)]
    if not parts:
        return None
    count = sum(len(rows) for _, rows in parts)
    limit = max(200, min(1500, sample.CHART_POINTS // (3 * max(1, count))))
    names = list(dict.fromkeys(_name(view, one) for _, rows in parts for one in rows))
    keys = palette.keys(ask.series or "class", names)
    panels, data = [], []
    for title, rows in parts:
        drawn = [entry for one in rows for entry in _data(view, one, title, limit)]
        data += drawn
        panels.append(_panel(view, title, rows, drawn, keys))
    notes = ("The pale band spans the lowest and highest interval of each bucket.",) if any(_wide(data)) else ()
    return Figure(
        ask.id, ask.title, "timeseries", ask.caption, tuple(panels), keys if len(keys) > 1 else (), "class",
        tuple(data), notes, wide=True,
    )  # fmt: skip


def _wide(data: list[Datum]) -> list[bool]:
    return [entry["low"] != entry["high"] for entry in data]


def _name(view: View, one: Row) -> str:
    return labels.value(view.ask.series, one.dimension(view.ask.series)) if view.ask.series else one.name


def _data(view: View, one: Row, title: str, limit: int) -> list[Datum]:
    at, found = values(one, view.ask.y)
    name = _name(view, one)
    return [
        {
            "panel": title,
            "series": name,
            "x": round(bucket.at, 3),
            "y": datum.number(bucket.mean),
            "low": datum.number(bucket.low),
            "high": datum.number(bucket.high),
            "cell": one.cell.id,
        }
        for bucket in sample.buckets(at, found, limit)
    ]


def _panel(view: View, title: str, rows: Sequence[Row], data: list[Datum], keys: Sequence[Key]) -> Panel:
    ask = view.ask
    log = axes.wants_log([float(entry["y"]) for entry in data], ask.y_scale)
    y = axes.vertical(ask.y, log=log, values=[float(entry["high"]) for entry in data])
    x = _time(max(float(entry["x"]) for entry in data))
    colour = marks.colour(keys)
    layers: list[Any] = [
        alt.Chart().mark_area(opacity=0.25, clip=True).encode(x=x, y=marks.at(y, "low"), y2="high:Q", color=colour),
        alt.Chart().mark_line(strokeWidth=1.4, clip=True).encode(
            x=x, y=y, color=colour, detail="cell:N", tooltip=["series:N", "x:Q", "y:Q", "cell:N"]
        ),
    ]  # fmt: skip
    changes = [entry for one in rows for entry in _changes(one, ask.y)]
    if changes:
        layers += _marked(changes, x, y)
    lines = len({(entry["series"], entry["cell"]) for entry in data})
    return marks.finish(layers, data, title=title, height=HEIGHT, says=f"{ask.title} {title}".strip(), counts=lines)


def _time(end: float) -> alt.X:
    """Time since the window opened, in the unit that fits the run."""
    factor, name = (1, "seconds") if end <= 600 else (60, "minutes") if end <= 4 * 3600 else (3600, "hours")
    step = next((step for step in (1, 2, 5, 10, 15, 20, 30, 60, 120) if end / factor / step <= 10), 300) * factor
    ticks = [float(tick) for tick in range(0, math.floor(end) + 1, step)]
    expression = f"format(datum.value / {factor}, '~g')"
    axis = alt.Axis(title=f"{name} since the window opened", values=ticks, labelExpr=expression)
    return alt.X("x:Q", axis=axis, scale=alt.Scale(nice=False, domain=[0, end]))


def _changes(one: Row, metric: str) -> list[Datum]:
    at, found = values(one, metric)
    parts = segments(found)
    unit = row.unit(metric)
    return [
        {
            "x": at[part.first],
            "text": f"{show.figure(part.level, unit)} from {show.duration(at[part.first])}",
            "y": part.level,
        }
        for part in parts[1:]
    ]


def _marked(changes: list[Datum], x: alt.X, y: alt.Y) -> list[Layer]:
    data = alt.InlineData(values=changes)
    rule = alt.Chart(data).mark_rule(stroke=theme.SOFT, strokeDash=[3, 3]).encode(x=x)
    look: dict[str, Any] = {"align": "left", "dx": 6, "dy": -15, "fontSize": 11, "fontWeight": 600}
    halo = alt.Chart(data).mark_text(stroke=theme.PAPER, strokeWidth=4, **look)
    words = alt.Chart(data).mark_text(**look)
    return [rule, *(layer.encode(x=x, y=y, text="text:N") for layer in (halo, words))]
