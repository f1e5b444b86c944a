"""Lines: a metric against a factor, one line for each series, small multiples for the rest."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

import altair as alt

from assay.charts import axes, datum, marks
from assay.charts.model import Datum, Figure, Key, Layer, Panel
from assay.charts.palette import Palette
from assay.report.figures.choose import View
from assay.results import group, labels, row
from assay.results.row import Row

HEIGHT = 250
DIRECT = 6


def draw(view: View, palette: Palette) -> Figure | None:
    """The figure; none where the metric was nowhere measured."""
    ask = view.ask
    parts = [(title, _data(view, title, rows)) for title, rows in view.panels()]
    parts = [(title, data) for title, data in parts if data]
    data = [entry for _, part in parts for entry in part]
    if not data:
        return None
    names = list(dict.fromkeys(str(entry["series"]) for entry in data))
    keys = palette.keys(ask.series, _in_order(view, names))
    direct = len(parts) == 1 and 1 < len(keys) <= DIRECT
    log = axes.wants_log(datum.span(data), ask.y_scale, beyond=30 if row.is_cost(ask.y) else 300)
    panels = tuple(_panel(view, title, part, keys, data, log=log, direct=direct) for title, part in parts)
    return Figure(
        id=ask.id,
        title=ask.title,
        kind="line",
        caption=ask.caption,
        panels=panels,
        keys=keys if len(keys) > 1 else (),
        keys_title=labels.dimension(ask.series) if ask.series else "",
        data=tuple(data),
        wide=len(panels) > 1,
    )


def _data(view: View, title: str, rows: Sequence[Row]) -> list[Datum]:
    ask = view.ask
    found = []
    for (x, series), part in group.by(rows, [ask.x, ask.series or "study"]).items():
        point = group.point(part, ask.y)
        if point is not None and x is not None:
            name = labels.value(ask.series, series) if ask.series else ""
            found.append(datum.of(point, x_name=ask.x, x=x, series=name, panel=title))
    return found


def _in_order(view: View, names: list[str]) -> list[str]:
    if not view.ask.series:
        return names
    values = group.ordered(one.key(view.ask.series) for one in view.rows)
    said = [labels.value(view.ask.series, value) for value in values]
    return [name for name in dict.fromkeys(said) if name in names]


def _xs(view: View) -> list[Hashable]:
    return [value for value in group.ordered(one.key(view.ask.x) for one in view.rows) if value is not None]


def _panel(
    view: View,
    title: str,
    data: list[Datum],
    keys: Sequence[Key],
    everything: list[Datum],
    *,
    log: bool,
    direct: bool,
) -> Panel:
    ask = view.ask
    x = axes.factor(ask.x, _xs(view), ask.x_scale)
    y = axes.vertical(ask.y, log=log, values=datum.span(everything))
    layers: list[Any] = [
        *([marks.bounds(keys, x, lambda name: marks.at(y, name))] if marks.bounded(data) else []),
        marks.lines(keys, x, y, title=labels.dimension(ask.series)),
        marks.points(keys, x, y, title=labels.dimension(ask.series)),
        *([marks.crosses(x, y)] if any(entry["bad"] for entry in data) else []),
    ]
    if direct:
        layers.append(_direct(data, keys, x, y, everything, log=log))
    says = f"{ask.title or axes.title(ask.y)} {title}".strip()
    count = sum(1 for entry in data if not entry["bad"])
    panel = marks.finish(layers, data, title=title, height=HEIGHT, says=says, counts=count)
    room = max((len(key.label) for key in keys), default=0) * marks.LABEL_ROOM + 14
    return marks.pad_right(panel, room) if direct else panel


def _direct(data: list[Datum], keys: Sequence[Key], x: alt.X, y: alt.Y, everything: list[Datum], *, log: bool) -> Layer:
    ends = [end for key in keys if (end := _last(data, key.label)) is not None]
    position = _pixels([float(end["y"]) for end in ends], datum.span(everything), log=log)
    placed = marks.spread(position, HEIGHT)
    values = [
        {"series": end["series"], "x": end["x"], "y": end["y"], "dy": round(there - here, 1)}
        for end, here, there in zip(ends, position, placed, strict=True)
    ]
    return (
        alt.Chart(alt.InlineData(values=values), name="direct")
        .mark_text(align="left", dx=9, dy=alt.ExprRef("datum.dy"), fontWeight=600, fontSize=11)
        .encode(x=x, y=y, text="series:N", color=marks.colour(keys))
    )


def _last(data: list[Datum], series: str) -> Datum | None:
    found = [entry for entry in data if entry["series"] == series and not entry["bad"]]
    return max(found, key=lambda entry: entry["x"] if isinstance(entry["x"], (int, float)) else 0.0, default=None)


def _pixels(values: Sequence[float], everything: Sequence[float], *, log: bool) -> list[float]:
    """Where values lie from the top, as the scale will place them; near enough to keep labels apart."""
    domain = axes.scale(everything, log=log).to_dict().get("domain")
    low, high = domain or (0.0, max(everything, default=1.0) * 1.05 or 1.0)
    if log and low > 0:
        return [HEIGHT * (1 - math.log(max(value, low) / low) / math.log(high / low)) for value in values]
    return [HEIGHT * (1 - (value - low) / (high - low)) for value in values]
