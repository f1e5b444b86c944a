"""Distributions of latency from histograms: what share of operations was done within what time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import altair as alt

from assay.charts import axes, marks
from assay.charts import palette as palettes
from assay.charts.model import Datum, Figure, Key, Layer, Panel
from assay.charts.palette import Palette
from assay.report.figures.choose import View
from assay.results import group, histogram, labels
from assay.results.row import Row

HEIGHT = 270
_TICKS = {0.0: "0", 0.30103: "50 %", 1.0: "90 %", 2.0: "99 %", 3.0: "99.9 %", 4.0: "99.99 %", 5.0: "99.999 %"}


def draw(view: View, palette: Palette) -> Figure | None:
    """The figure; none where no histogram can be read."""
    ask = view.ask
    parts = [(title, _data(view, title, rows)) for title, rows in view.panels()]
    parts = [(title, data) for title, data in parts if data]
    if not parts:
        return None
    data = [entry for _, part in parts for entry in part]
    keys = palette.keys(ask.series or "class", list(dict.fromkeys(str(entry["series"]) for entry in data)))
    panels = tuple(_panel(view, title, part, keys, data) for title, part in parts)
    notes = ("Thin tails have fewer than 100 operations beyond them: take them as a hint.",) if _tails(data) else ()
    shown, heading = keys if len(keys) > 1 else (), labels.dimension(ask.series or "class")
    wide = len(panels) > 1
    return Figure(ask.id, ask.title, "cdf", ask.caption, panels, shown, heading, tuple(data), notes, wide=wide)


def _tails(data: list[Datum]) -> bool:
    return any(not entry["supported"] for entry in data)


def which(metric: str) -> str:
    """The distribution that a metric belongs to."""
    head = metric.split("_p", maxsplit=1)[0].removesuffix("_ns")
    return head if head in {"service", "response", "flush", "read_service", "write_service"} else "service"


def _data(view: View, title: str, rows: Sequence[Row]) -> list[Datum]:
    ask, found = view.ask, []
    for (series,), part in group.by(rows, [ask.series or "class"]).items():
        usable = [one for one in part if one.status != "invalid"] or part
        merged = histogram.merge(one.distribution(which(ask.y)) for one in usable)
        for share, value in histogram.curve(merged) if merged is not None else ():
            found.append(
                {
                    "panel": title,
                    "series": labels.value(ask.series or "class", series),
                    "x": value,
                    "y": round(-math.log10(1 - share), 4) if share < 1 else None,
                    "share": share,
                    "supported": merged is not None and (1 - share) * merged.get_total_count() >= 99.5,
                    "cell": ", ".join(one.cell.id for one in usable),
                }
            )
    kept = [entry for entry in found if entry["y"] is not None]
    for entry, after in pairwise(kept):
        entry["joint"] = bool(entry["supported"] and not after["supported"] and entry["series"] == after["series"])
    return kept


def _panel(view: View, title: str, data: list[Datum], keys: Sequence[Key], everything: list[Datum]) -> Panel:
    noun = {"response": "response time", "flush": "flush latency"}.get(which(view.ask.y), "latency")
    values = [float(entry["x"]) for entry in everything]
    axis = axes.ticked(
        values, log=True, title=noun, labelExpr=axes.label_expression("ns"), labelOverlap="greedy", grid=True
    )
    x = alt.X("x:Q", axis=axis, scale=axes.scale(values, log=True))
    top = max(float(entry["y"]) for entry in everything)
    ticks = [tick for tick in _TICKS if tick <= top + 0.3]
    words = " : ".join(f"abs(datum.value - {tick}) < 0.01 ? '{_TICKS[tick]}'" for tick in ticks) + " : ''"
    y = alt.Y(
        "y:Q",
        axis=alt.Axis(values=ticks, labelExpr=words, title="operations done within"),
        scale=alt.Scale(domain=[0, top]),
    )
    layers: list[Any] = [_curve(keys, x, y, supported=True)]
    layers += [_curve(keys, x, y, supported=False)] if _tails(data) else []
    lines = len({entry["series"] for entry in data if entry["supported"]})
    tails = len({entry["series"] for entry in data if not entry["supported"]})
    says = f"{view.ask.title} {title}".strip()
    return marks.finish(layers, data, title=title, height=HEIGHT, says=says, counts=lines + tails)


def _curve(keys: Sequence[Key], x: alt.X, y: alt.Y, *, supported: bool) -> Layer:
    chart = alt.Chart().mark_line(
        interpolate="step-before", clip=True, strokeWidth=2 if supported else 1, opacity=1 if supported else 0.55
    )
    return chart.transform_filter("datum.supported" if supported else "!datum.supported || datum.joint").encode(
        x=x,
        y=y,
        color=marks.colour(keys),
        order="y:Q",
        strokeDash=alt.StrokeDash("series:N", scale=palettes.scale(keys, "dash"), legend=None),
        tooltip=["series:N", "share:Q", "x:Q", "cell:N"],
    )
