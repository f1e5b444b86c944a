"""The ratio of every pair in the order in which the pairs ran: drift, jumps and likeness of neighbours show here."""

from __future__ import annotations

import math

import altair as alt

from assay.charts import marks, palette, theme
from assay.charts.model import Datum, Figure, Key, Layer, Panel
from assay.compare import words
from assay.compare.comparison import Comparison
from assay.compare.line import Line
from assay.compare.view.forest import PERCENT, ordered, ticks_between

FIRST = (Key("A ran first", 0), Key("B ran first", 1))
MOST = 12
HEIGHT = 150


def draw(comparison: Comparison) -> Figure | None:
    """One panel a comparison; none where no comparison has two pairs."""
    lines = [line for line in ordered(comparison.lines) if len(line.pairs) > 1]
    if not lines:
        return None
    panels = tuple(_panel(line) for line in lines[:MOST])
    data = tuple(entry for line in lines[:MOST] for entry in _data(line))
    caption = "Ratio of B over A of each pair, in the order of the pairs; the line is the median."
    notes = (f"{len(lines) - MOST} more are in the JSON document.",) if len(lines) > MOST else ()
    return Figure("dots", "Pair by pair", "dots", caption, panels, FIRST, "order in the pair", data, notes, True, True)


def _data(line: Line) -> list[Datum]:
    return [
        {
            "panel": line.name,
            "series": FIRST[0 if pair.first == "A" else 1].label,
            "x": place,
            "y": math.exp(value),
            "pair": pair.number,
            "cell": pair.b.cell.id,
            "a": pair.a.cell.id,
            "said": words.change(math.exp(value)),
            "verdict": f"{pair.a.status} and {pair.b.status}",
            "hollow": "valid" not in (pair.a.status, pair.b.status),
        }
        for place, pair in enumerate(line.pairs, 1)
        if (value := pair.log_ratio(line.metric)) is not None
    ]


def _panel(line: Line) -> Panel:
    data = _data(line)
    values = [float(entry["y"]) for entry in data]
    low, high = min(*values, 1.0) / 1.01, max(*values, 1.0) * 1.01
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    ticks = ticks_between(low, high, 0.12)
    y = alt.Y("y:Q", scale=scale, axis=alt.Axis(labelExpr=PERCENT, values=ticks, title=None))
    x = alt.X(
        "x:Q", axis=alt.Axis(title="pair, in time order", tickMinStep=1, tickCount=6), scale=alt.Scale(nice=False)
    )
    paint = palette.scale(FIRST, "color")
    fields = (("said", "B against A"), ("series", "order"), ("a", "A"), ("cell", "B"), ("verdict", "verdicts"))
    points = (
        alt.Chart()
        .mark_point(size=42, strokeWidth=1.6, opacity=1)
        .encode(
            x=x,
            y=y,
            stroke=alt.Stroke("series:N", scale=paint, legend=None),
            fill=alt.Fill("series:N", scale=paint, legend=None),
            shape=alt.Shape("series:N", scale=palette.scale(FIRST, "shape"), legend=None),
            tooltip=[alt.Tooltip(f"{name}:N", title=title) for name, title in fields],
        )
    )
    rules = [_rule(1.0, theme.LINE, "one", y), _rule(line.ratio or 1.0, theme.SOFT, "median", y)]
    return marks.finish([*rules, points], data, title=line.name, height=HEIGHT, says=line.name, counts=len(data))


def _rule(value: float, colour: str, name: str, y: alt.Y) -> Layer:
    at = y.copy()
    at.shorthand = "at:Q"
    return (
        alt.Chart(alt.InlineData(values=[{"at": value}]), name=name)
        .mark_rule(stroke=colour, strokeWidth=1.4)
        .encode(y=at)
    )
