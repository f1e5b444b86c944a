"""Layers that several kinds of figures share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from assay.charts import datum, palette, theme
from assay.charts.model import Datum, Key, Layer, Panel, Spec

LABEL_ROOM = 6.3
_LABEL_GAP = 13.0


def colour(keys: Sequence[Key], *, title: str = "") -> alt.Color:
    """Colour by series. The page draws legends itself; files switch them on."""
    return alt.Color("series:N", scale=palette.scale(keys, "color"), legend=None, title=title or None)


def points(keys: Sequence[Key], x: Any, y: Any, *, title: str = "", size: int = 52) -> Layer:
    """Symbols: hollow where a record is suspect or a percentile weakly supported."""
    paint = palette.scale(keys, "color")
    return (
        alt.Chart()
        .mark_point(size=size, strokeWidth=1.8, opacity=1)
        .transform_filter("!datum.bad")
        .encode(
            x=x,
            y=y,
            stroke=alt.Stroke("series:N", scale=paint, legend=None, title=title or None),
            fill=alt.Fill(
                "series:N",
                scale=paint,
                legend=None,
                title=title or None,
                condition=alt.ConditionalPredicateValueDefGradientstringnullExprRef(
                    test="datum.hollow", value=theme.PAPER
                ),
            ),
            shape=alt.Shape("series:N", scale=palette.scale(keys, "shape"), legend=None, title=title or None),
            tooltip=datum.tooltip(),
        )
    )


def lines(keys: Sequence[Key], x: Any, y: Any, *, title: str = "") -> Layer:
    """Lines that pass by invalid points."""
    return (
        alt.Chart()
        .mark_line(clip=True)
        .transform_filter("!datum.bad")
        .encode(
            x=x,
            y=y,
            color=colour(keys, title=title),
            strokeDash=alt.StrokeDash("series:N", scale=palette.scale(keys, "dash"), legend=None, title=title or None),
        )
    )


def bounds(keys: Sequence[Key], x: Any, axis: Any) -> Layer:
    """Intervals as thin rules."""
    return (
        alt.Chart()
        .mark_rule(strokeWidth=1.4, opacity=0.75)
        .transform_filter("isValid(datum.low) && !datum.bad")
        .encode(x=x, y=axis("low"), y2="high:Q", color=colour(keys))
    )


def bounded(data: Sequence[Datum]) -> bool:
    """Whether any point has an interval to draw."""
    return any(entry["low"] is not None and not entry["bad"] for entry in data)


def crosses(x: Any, y: Any) -> Layer:
    """Invalid points: shown, and shown to be worthless."""
    return (
        alt.Chart()
        .mark_text(text="\u2715", fill=theme.SOFT, fontSize=12)
        .transform_filter("datum.bad")
        .encode(x=x, y=y, tooltip=datum.tooltip())
    )


def at(axis: alt.Y, name: str) -> alt.Y:
    """The same vertical axis over another field."""
    found = axis.copy()
    found.shorthand = f"{name}:Q"
    return found


def spread(positions: Sequence[float], height: float) -> list[float]:
    """Moves labels apart until none covers another; `positions` are pixels from the top."""
    order = sorted(range(len(positions)), key=lambda index: positions[index])
    placed = list(positions)
    floor = -_LABEL_GAP
    for index in order:
        placed[index] = max(placed[index], floor)
        floor = placed[index] + _LABEL_GAP
    for index in reversed(order):
        placed[index] = min(placed[index], height)
        height = placed[index] - _LABEL_GAP
    return placed


HEADING = 19.0


def headed(names: Sequence[str], body: float, gap: float = 10.0) -> tuple[alt.Y, Layer, int]:
    """Bands whose names stand above them, where they cost no width: axis, layer of names and height in pixels."""
    step = HEADING + body + gap
    space = (HEADING + gap) / step
    scale = alt.Scale(type="band", domain=list(names), paddingInner=space, paddingOuter=space / 2, align=1)
    above = alt.Y("x:N", sort=list(names), axis=None, scale=scale, bandPosition=0)
    words = (
        alt.Chart(alt.InlineData(values=[{"x": name, "zero": 0} for name in names]), name="heads")
        .mark_text(align="left", baseline="bottom", dy=-4, fontSize=11.5)
        .encode(x=alt.value(0), y=above, text="x:N")
    )
    return alt.Y("x:N", sort=list(names), axis=None, scale=scale), words, round(step * len(names))


def finish(layers: list[Any], data: Sequence[Datum], *, title: str, height: int, says: str, counts: int) -> Panel:
    """A panel over its data, as wide as its place on the page."""
    chart = alt.layer(*layers, data=alt.InlineData(values=[])).properties(
        width="container", height=height, description=says
    )
    with alt.data_transformers.enable(consolidate_datasets=False):
        spec: Spec = chart.to_dict()
    spec.pop("config", None)
    # Put in afterwards: Altair would copy and check every value.
    spec["data"]["values"] = list(data)
    spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    return Panel(title=title, spec=spec, marks=counts, height=height)


def pad_right(panel: Panel, pixels: float) -> Panel:
    """Room for labels that stand to the right of a plot."""
    panel.spec["padding"] = {"left": 2, "top": 2, "bottom": 2, "right": round(pixels)}
    return panel
