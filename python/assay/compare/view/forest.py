"""Ratios with their intervals, one below the other: the picture of a comparison."""

from __future__ import annotations

import math
from collections.abc import Sequence

import altair as alt

from assay.charts import marks, palette, theme
from assay.charts.model import Datum, Figure, Key, Layer
from assay.compare import bands, words
from assay.compare.comparison import Comparison
from assay.compare.line import Line
from assay.results import row
from assay.units import show

OUTCOMES = (Key("different", 1), Key("equivalent", 2), Key("undecided", 6))
MOST = 40
_NARROWEST = 1.03
_ABOVE = (1.02, 1.05, 1.1, 1.2, 1.4, 2, 3, 5, 10, 20, 50, 100)
_BELOW = (0.01, 0.02, 0.05, 0.1, 0.2, 0.33, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98)
PERCENT = "datum.value == 1 ? 'as A' : (datum.value > 1 ? '+' : '') + format(100 * (datum.value - 1), '.3~r') + ' %'"


def draw(comparison: Comparison) -> Figure:
    """The forest: different ones first, each group by the size of its ratio."""
    lines = ordered(comparison.lines)
    data = [_datum(line) for line in lines[:MOST]]
    names = [str(entry["x"]) for entry in data]
    place, heads, height = marks.headed(names, body=16)
    x = _axis(data, comparison.rules.margin)
    layers = [_band(comparison.rules.margin), _one(), heads, _intervals(place, x), _points(place, x)]
    says = "Median ratio of B over A with its 95 % interval for each comparison"
    panel = marks.finish(layers, data, title="", height=height, says=says, counts=len(data))
    margin = words.percent(comparison.rules.margin)
    caption = f"Median ratio of B over A with 95 % intervals from whole pairs; the band is the margin of {margin}."
    if any(line.reason in bands.DECIDING for line in lines):
        caption += " Of modelled sides: what their bands leave open."
    notes = (f"{len(lines) - MOST} more comparisons stand in the table.",) if len(lines) > MOST else ()
    return Figure(
        "forest", "B over A", "forest", caption, (panel,), OUTCOMES, "outcome", tuple(data), notes, True, True
    )


def ordered(lines: Sequence[Line]) -> list[Line]:
    """Different, equivalent, undecided; in each the largest ratio first, up or down."""
    rank = {key.label: place for place, key in enumerate(OUTCOMES)}
    return sorted(lines, key=lambda line: (rank[line.outcome], -abs(math.log(line.ratio or 1.0))))


def _datum(line: Line) -> Datum:
    low, high = line.bounds or (bands.of(line) if line.reason in bands.DECIDING else None) or (None, None)
    a, b = line.medians()
    unit = row.unit(line.metric)
    return {
        "x": line.name,
        "series": line.outcome,
        "y": line.ratio or 1.0,
        "low": low,
        "high": high,
        "pairs": len(line.pairs),
        "a": a,
        "b": b,
        "unit": unit,
        "said": words.change(line.ratio or 1.0),
        "bounds": words.span(line) or "no interval",
        "sides": " and ".join(show.figure(value, unit) for value in (a, b) if value is not None),
    }


def _axis(data: Sequence[Datum], margin: float) -> alt.X:
    values = [float(v) for entry in data for name in ("y", "low", "high") if (v := entry[name]) is not None]
    reach = max(_NARROWEST, 1 + 1.5 * margin, *values, *(1 / value for value in values)) ** 1.08
    ticks = ticks_between(1 / reach, reach, 0.045)
    scale = alt.Scale(type="log", domain=[1 / reach, reach], nice=False)
    axis = alt.Axis(values=ticks, labelExpr=PERCENT, title="B against A", grid=True, domain=False, ticks=False,
                    labelFlush=True, labelOverlap="greedy")  # fmt: skip
    return alt.X("y:Q", scale=scale, axis=axis)


def ticks_between(low: float, high: float, apart: float) -> list[float]:
    """Round ratios on a logarithmic axis, at least a share of its length apart, from 1 outwards."""
    found: list[float] = []
    for tick in sorted(
        (tick for tick in (1, *_BELOW, *_ABOVE) if low <= tick <= high), key=lambda tick: abs(math.log(tick))
    ):
        if all(abs(math.log(tick / other)) >= apart * math.log(high / low) for other in found):
            found.append(tick)
    return sorted(found)


def _band(margin: float) -> Layer:
    values = [{"from": 1 / (1 + margin), "to": 1 + margin}]
    return (
        alt.Chart(alt.InlineData(values=values), name="margin")
        .mark_rect(fill=theme.LINE, opacity=0.55)
        .encode(x=alt.X("from:Q"), x2="to:Q")
    )


def _one() -> Layer:
    return (
        alt.Chart(alt.InlineData(values=[{"one": 1}]), name="one")
        .mark_rule(stroke=theme.SOFT, strokeWidth=1)
        .encode(x=alt.X("one:Q"))
    )


def _intervals(place: alt.Y, x: alt.X) -> Layer:
    low = x.copy()
    low.shorthand = "low:Q"
    return (
        alt.Chart()
        .mark_rule(strokeWidth=2.2)
        .transform_filter("isValid(datum.low)")
        .encode(x=low, x2="high:Q", y=place, color=marks.colour(OUTCOMES))
    )


def _points(place: alt.Y, x: alt.X) -> Layer:
    named = (("x", "comparison"), ("series", "outcome"), ("said", "B against A"), ("bounds", "interval or bands"))
    tooltip = [alt.Tooltip(f"{name}:N", title=title) for name, title in (*named, ("sides", "A and B"))]
    paint = palette.scale(OUTCOMES, "color")
    return (
        alt.Chart()
        .mark_point(size=80, strokeWidth=1.8, opacity=1)
        .encode(
            x=x,
            y=place,
            stroke=alt.Stroke("series:N", scale=paint, legend=None),
            fill=alt.Fill("series:N", scale=paint, legend=None),
            shape=alt.Shape("series:N", scale=palette.scale(OUTCOMES, "shape"), legend=None),
            tooltip=tooltip,
        )
    )
