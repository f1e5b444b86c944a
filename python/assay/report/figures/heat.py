"""Heat maps: a metric over two factors, each cell with its value written in it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt

from assay.charts import axes, datum, marks, theme
from assay.charts.model import Datum, Figure, Layer, Panel
from assay.report.figures.choose import View
from assay.results import group, labels, row
from assay.results.row import Row

_CELL = 40
# So few columns need not fill the page.
_FEW = 2
_DOUBTFUL = "datum.hollow || datum.bad"


def draw(view: View) -> Figure | None:
    """The figure; none where the metric was nowhere measured."""
    ask = view.ask
    parts = [(title, _data(view, title, rows)) for title, rows in view.panels()]
    parts = [(title, data) for title, data in parts if data]
    data = [entry for _, part in parts for entry in part]
    if not data:
        return None
    shade(data)
    columns = [labels.value(ask.x, value) for value in _values(view, ask.x)]
    lines = [labels.value(ask.series, value) for value in _values(view, ask.series)] if ask.series else [""]
    panels = tuple(
        panel(
            part,
            title=title,
            columns=columns,
            lines=lines,
            says=ask.title or axes.title(ask.y),
            x_title=labels.dimension(ask.x),
        )
        for title, part in parts
    )
    note = f"Colour and figures: {axes.title(ask.y)}; darker is {'worse' if row.is_cost(ask.y) else 'more'}."
    note += f" Rows: {labels.dimension(ask.series)}." if ask.series else ""
    return Figure(ask.id, ask.title, "heatmap", ask.caption, panels, (), "", tuple(data), (note,), wide=len(panels) > 1)


def _values(view: View, name: str) -> list[object]:
    return [value for value in group.ordered(one.key(name) for one in view.rows) if value is not None]


def _data(view: View, title: str, rows: Sequence[Row]) -> list[Datum]:
    ask, found = view.ask, []
    for (x, series), part in group.by(rows, [ask.x, ask.series or "study"]).items():
        point = group.point(part, ask.y)
        if point is not None and x is not None:
            name = labels.value(ask.series, series) if ask.series else ""
            entry = datum.of(point, x_name=ask.x, x=x, series=name, panel=title)
            found.append({**entry, "x": labels.value(ask.x, x)})
    return found


def shade(data: list[Datum]) -> None:
    """Gives every entry its place on the ramp, logarithmic where values span more than ten fold."""
    values = [float(entry["y"]) for entry in data if entry["y"] > 0]
    low, high = min(values, default=0.0), max(values, default=1.0)
    log = low > 0 and high / low > 10
    for entry in data:
        entry["strong"] = _share(float(entry["y"]), low, high, log=log)


def _share(value: float, low: float, high: float, *, log: bool) -> float:
    if high <= low or value <= 0:
        return 0.0
    share = math.log(value / low) / math.log(high / low) if log else (value - low) / (high - low)
    return round(min(1.0, max(0.0, share)), 4)


def panel(
    data: list[Datum],
    *,
    title: str,
    columns: list[str],
    lines: list[str],
    says: str,
    x_title: str,
    gaps: Sequence[Datum] = (),
) -> Panel:
    """A grid of shaded cells; data carry `strong`, their place on the ramp from 0 to 1. `gaps` get a dash."""
    axis: dict[str, Any] = {"domain": False, "ticks": False, "labelColor": theme.INK, "labelFontSize": 11.5}
    heading = alt.Axis(title=x_title, labelAngle=0, labelLimit=80, orient="top", titleAnchor="start", **axis)
    x = alt.X("x:N", sort=columns, axis=heading, scale=alt.Scale(domain=columns))
    y = alt.Y("series:N", sort=lines, axis=alt.Axis(title=None, labelLimit=120, **axis), scale=alt.Scale(domain=lines))
    layers = [_tiles(x, y), _words(x, y)]
    if gaps:
        dash = alt.Chart(alt.InlineData(values=list(gaps))).mark_text(text="\u2013", fill=theme.SOFT, fontSize=13)
        layers.append(dash.encode(x=x, y=y))
    drawn = marks.finish(layers, data, title=title, height=_CELL * max(1, len(lines)), says=says, counts=len(data))
    if len(columns) <= _FEW:
        drawn.spec["width"] = {"step": 110}
        drawn.spec.pop("autosize")
    return drawn


def _tiles(x: alt.X, y: alt.Y) -> Layer:
    ramp = alt.Scale(domain=[index / (len(theme.RAMP) - 1) for index in range(len(theme.RAMP))], range=list(theme.RAMP))
    pale = alt.ConditionalPredicateValueDefnumberExprRef(test=_DOUBTFUL, value=0.45)
    return (
        alt.Chart()
        .mark_rect(stroke=theme.PAPER, strokeWidth=2)
        .encode(
            x=x,
            y=y,
            color=alt.Color("strong:Q", scale=ramp, legend=None),
            fillOpacity=alt.FillOpacityValue(value=1, condition=pale),
            tooltip=datum.tooltip(),
        )
    )


def _words(x: alt.X, y: alt.Y) -> Layer:
    """Black on pale, white on dark; tiles that are faded show the page through and take its ink."""
    white = alt.ConditionalPredicateValueDefGradientstringnullExprRef(
        test=f"datum.strong > 0.5 && !({_DOUBTFUL})", value="#ffffff"
    )
    faded = alt.ConditionalPredicateValueDefGradientstringnullExprRef(test=_DOUBTFUL, value=theme.INK)
    colour = alt.ColorValue(value="#1c1c22", condition=[white, faded])
    return alt.Chart().mark_text(fontSize=11.5).encode(x=x, y=y, text="said:N", color=colour)
