"""A figure over result folders, with its changes."""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import median

import altair as alt

from assay.charts import axes, marks, theme
from assay.charts.model import Datum, Figure, Key, Layer, Panel
from assay.compare.history import History, Series
from assay.results import row
from assay.units import show

MOST = 24
HEIGHT = 190
_KEY = (Key("folder", 0),)


def draw(history: History) -> Figure:
    """One panel a series; those with changes first."""
    order = sorted(history.series, key=lambda one: -len(one.changes))
    panels = tuple(_panel(one) for one in order[:MOST])
    data = tuple(entry for one in order[:MOST] for entry in _data(one))
    caption = (
        "Median over the repeats of each folder, with its interval; grey lines are the levels between changes, and the "
        "bands are where a change lies with 95 %."
    )
    notes = (f"{len(order) - MOST} more series are in the JSON document.",) if len(order) > MOST else ()
    title = f"{row.metric_title(history.metric)} by {history.over}"
    return Figure("history", title, "history", caption, panels, (), "", data, notes, True, True)


def _data(series: Series) -> list[Datum]:
    unit = row.unit(series.metric)
    found = []
    for place, step in enumerate(series.steps):
        interval = step.point.interval
        found.append({
            "panel": series.name,
            "series": _KEY[0].label,
            "x": place,
            "at": step.name,
            "y": step.point.value,
            "low": interval.low if interval else None,
            "high": interval.high if interval else None,
            "runs": len(step.point.rows),
            "verdict": step.point.status,
            "provenance": step.point.provenance,
            "said": show.figure(step.point.value, unit),
            "hollow": step.point.status == "suspect",
            "bad": step.point.status == "invalid",
        })  # fmt: skip
    return found


def _panel(series: Series) -> Panel:
    data = _data(series)
    everything = [float(v) for entry in data for name in ("y", "low", "high") if (v := entry[name]) is not None]
    names = [step.name for step in series.steps]
    words = "[" + ",".join(repr(name.replace("'", " ")) for name in names) + "][datum.value]"
    axis = alt.Axis(title=None, labelExpr=words, tickMinStep=1, tickCount=6, labelOverlap="greedy", labelLimit=110)
    x = alt.X("x:Q", axis=axis, scale=alt.Scale(domain=[-0.5, len(data) - 0.5], nice=False))
    y = axes.vertical(series.metric, log=False, values=everything)
    fields = (("at", "at"), ("said", "value"), ("verdict", "verdict"), ("provenance", "provenance"), ("runs", "runs"))
    points = (
        alt.Chart()
        .mark_point(size=40, filled=True, color=theme.colour(0), opacity=1)
        .encode(x=x, y=y, tooltip=[alt.Tooltip(f"{name}:N", title=title) for name, title in fields])
    )
    layers = [
        *_changes(series, x),
        _levels(series, x, y),
        marks.bounds(_KEY, x, lambda name: marks.at(y, name)),
        points,
    ]
    return marks.finish(layers, data, title=series.name, height=HEIGHT, says=series.name, counts=len(data))


def _levels(series: Series, x: alt.X, y: alt.Y) -> Layer:
    edges = [0, *(one.at for one in series.changes), len(series.steps)]
    values = [
        {"from": a - 0.4, "to": b - 0.6, "level": median(step.point.value for step in series.steps[a:b])}
        for a, b in pairwise(edges)
    ]
    first = x.copy()
    first.shorthand = "from:Q"
    return (
        alt.Chart(alt.InlineData(values=values), name="levels")
        .mark_rule(stroke=theme.SOFT, strokeWidth=2)
        .encode(x=first, x2="to:Q", y=marks.at(y, "level"))
    )


def _changes(series: Series, x: alt.X) -> list[Layer]:
    values = [{"from": one.first - 0.5, "to": one.last + 0.5 - math.ulp(1.0), "p": one.p} for one in series.changes]
    first = x.copy()
    first.shorthand = "from:Q"
    band = (
        alt.Chart(alt.InlineData(values=values), name="changes")
        .mark_rect(fill=theme.colour(1), opacity=0.14)
        .encode(x=first, x2="to:Q")
    )
    return [band] if values else []
