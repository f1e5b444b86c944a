"""Bars: a metric per category; dots on a logarithmic axis where values lie too far apart for bars."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import altair as alt

from assay.charts import axes, datum, marks, theme
from assay.charts import palette as palettes
from assay.charts.model import Datum, Figure, Key, Layer, Panel
from assay.charts.palette import Palette
from assay.report.figures.choose import View
from assay.results import group, labels, row
from assay.results.row import Row

_THICK, _THIN, _GAP = 20.0, 16.0, 13.0
# Units that are part of the figure; of others the axis speaks.
_SPOKEN = {"bytes/s", "bytes", "ns"}
# Longer names than this take the width that bars need on a phone.
_SHORT = 16


def draw(view: View, palette: Palette) -> Figure | None:
    """The figure; none where the metric was nowhere measured."""
    ask = view.ask
    parts = [(title, _data(view, title, rows)) for title, rows in view.panels()]
    parts = [(title, data) for title, data in parts if data]
    everything = [entry for _, part in parts for entry in part]
    if not everything:
        return None
    names = list(dict.fromkeys(str(entry["series"]) for entry in everything))
    keys = palette.keys(ask.series, names)
    log = axes.wants_log(datum.span(everything), ask.y_scale)
    panels = tuple(_panel(view, title, part, keys, everything, log=log) for title, part in parts)
    return Figure(
        id=ask.id,
        title=ask.title,
        kind="bar",
        caption=ask.caption,
        panels=panels,
        keys=keys if len(keys) > 1 else (),
        keys_title=labels.dimension(ask.series) if ask.series else "",
        data=tuple(everything),
        wide=len(panels) > 1,
        dots=log,
    )


def _data(view: View, title: str, rows: Sequence[Row]) -> list[Datum]:
    ask = view.ask
    found = []
    keyed = group.by(rows, [ask.x, ask.series or "study"])
    places = [group.ordered(key[index] for key in keyed) for index in range(2)]
    order = sorted(keyed, key=lambda key: (places[0].index(key[0]), places[1].index(key[1])))
    for x, series in order:
        point = group.point(keyed[x, series], ask.y)
        if point is not None:
            name = labels.value(ask.series, series) if ask.series else row.metric_title(ask.y)
            entry = datum.of(point, x_name=ask.x, x=x, series=name, panel=title)
            found.append({**entry, "x": _category(ask.x, x), "text": _words(entry)})
    return found


def _words(entry: Datum) -> str:
    """The figure beside its bar: the axis says what is counted, the mark what it is worth."""
    plain = str(entry["said"]) if entry["unit"] in _SPOKEN else str(entry["said"]).rpartition(" ")[0] or entry["said"]
    return f"{plain}  {labels.STATUS_MARK['invalid']}" if entry["bad"] else str(plain)


def _category(name: str, value: Hashable) -> str:
    return labels.value(name, value) if value is not None else "none"


def _panel(
    view: View, title: str, data: list[Datum], keys: Sequence[Key], everything: list[Datum], *, log: bool
) -> Panel:
    x = _values(view.ask.y, everything, log=log)
    names = list(dict.fromkeys(str(entry["x"]) for entry in data))
    body = _THIN * len(keys) + 2 if len(keys) > 1 else _THICK
    y, heads, height = _categories(names, body)
    place = {"y": y, **_offset(keys)}
    drawn = _dots(keys, x, place) if log else _bars(keys, x, place)
    layers = [drawn, *([_bounds(x, place)] if marks.bounded(data) else []), _said(x, place), *heads]
    says = f"{view.ask.title or axes.title(view.ask.y)} {title}".strip()
    panel = marks.finish(layers, data, title=title, height=height, says=says, counts=len(data))
    longest = max(len(str(entry["text"])) for entry in data)
    return marks.pad_right(panel, longest * marks.LABEL_ROOM + 12)


def _values(metric: str, data: list[Datum], *, log: bool) -> alt.X:
    expression = axes.label_expression(row.unit(metric))
    axis = axes.ticked(
        datum.span(data),
        log=log,
        count=4,
        labelExpr=expression,
        title=axes.title(metric),
        **axes.BELOW,
    )
    return alt.X("y:Q", axis=axis, scale=axes.scale(datum.span(data), log=log))


def _categories(names: list[str], body: float) -> tuple[alt.Y, list[Layer], int]:
    """Short names stand beside their bars, long ones above them."""
    if max(len(name) for name in names) > _SHORT:
        y, heads, height = marks.headed(names, body)
        return y, [heads], height
    axis = alt.Axis(title=None, labelLimit=170, labelColor=theme.INK, labelFontSize=11.5, labelPadding=6)
    space = _GAP / (body + _GAP)
    scale = alt.Scale(type="band", domain=names, paddingInner=space, paddingOuter=space / 2)
    return alt.Y("x:N", sort=names, axis=axis, scale=scale), [], round(len(names) * (body + _GAP))


def _offset(keys: Sequence[Key]) -> dict[str, Any]:
    if len(keys) < 2:
        return {}
    names = [key.label for key in keys]
    return {
        "yOffset": alt.YOffset("series:N", sort=names, scale=alt.Scale(type="band", domain=names, paddingInner=0.14))
    }


def _paint(keys: Sequence[Key]) -> dict[str, Any]:
    scale = palettes.scale(keys, "color")
    hollow = alt.ConditionalPredicateValueDefnumberExprRef(test="datum.hollow || datum.bad", value=0.18)
    return {
        "fill": alt.Fill("series:N", scale=scale, legend=None, title=None),
        "stroke": alt.Stroke("series:N", scale=scale, legend=None, title=None),
        "fillOpacity": alt.FillOpacityValue(value=0.92, condition=hollow),
        "tooltip": datum.tooltip(),
    }


def _bars(keys: Sequence[Key], x: alt.X, place: dict[str, Any]) -> Layer:
    return alt.Chart().mark_bar(cornerRadiusEnd=2, strokeWidth=1).encode(x=x, **place, **_paint(keys))


def _dots(keys: Sequence[Key], x: alt.X, place: dict[str, Any]) -> Layer:
    shape = alt.Shape("series:N", scale=palettes.scale(keys, "shape"), legend=None, title=None)
    return alt.Chart().mark_point(size=75, strokeWidth=1.6).encode(x=x, shape=shape, **place, **_paint(keys))


def _bounds(x: alt.X, place: dict[str, Any]) -> Layer:
    low = x.copy()
    low.shorthand = "low:Q"
    return (
        alt.Chart()
        .mark_rule(strokeWidth=1.6, stroke=theme.INK, opacity=0.7)
        .transform_filter("isValid(datum.low)")
        .encode(x=low, x2="high:Q", **place)
    )


def _said(x: alt.X, place: dict[str, Any]) -> Layer:
    end = x.copy()
    end.shorthand = "end:Q"
    return (
        alt.Chart()
        .transform_calculate(end="isValid(datum.high) ? max(datum.high, datum.y) : datum.y")
        .mark_text(align="left", dx=7, fontSize=11)
        .encode(x=end, text="text:N", **place)
    )
