"""The figure of what happened within cells: the total from moment to moment, with those marked who were not in it."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from assay.charts import axes, marks, theme
from assay.charts.model import Datum, Figure, Layer, Panel
from assay.units import show
from assay.untyped import Json

MOST_CELLS = 12
"""Panels of a figure: those with hosts missing first, then the last."""
_METRIC, _UNIT, _HEIGHT = "ops_rate", "ops/s", 130


def figures(moments: Sequence[Json]) -> list[Figure]:
    """A figure for each class, with a panel for each cell (`assay.fleet.moments.of_cell`)."""
    names = dict.fromkeys(name for one in moments for name in one["classes"])
    return [_figure(name, [one for one in moments if name in one["classes"]]) for name in names]


def _figure(name: str, cells: Sequence[Json]) -> Figure:
    shown = _chosen(cells)
    data = {str(one["cell"]): _data(one, name) for one in shown}
    every = [entry for found in data.values() for entry in found]
    panels = tuple(_panel(one, data[str(one["cell"])], every) for one in shown)
    caption = (
        "The sum over the hosts that are in the total, from moment to moment of the window that they share. A line "
        "stands where a host was seen to be gone; who is not in the total is named."
    )
    left = len(cells) - len(shown)
    notes = (f"{left} more cells are not drawn.",) if left else ()
    title = f"{name}: all hosts together, within each cell"
    return Figure(f"within-{name}", title, "fleet", caption, panels, (), "", tuple(every), notes, True)


def _chosen(cells: Sequence[Json]) -> list[Json]:
    missing = [one for one in cells if one["missing"]]
    others = [one for one in cells if not one["missing"]]
    taken = {id(one) for one in [*missing, *reversed(others)][:MOST_CELLS]}
    return [one for one in cells if id(one) in taken]


def _data(one: Json, name: str) -> list[Datum]:
    cell = str(one["cell"])
    rates = [
        {"panel": cell, "kind": "rate", "x": at_s, "y": rate, "said": show.figure(rate, _UNIT), "host": ""}
        for at_s, rate in one["classes"][name]
    ]
    lost = [
        {"panel": cell, "kind": "lost", "x": seen["at_s"], "y": 0.0, "said": seen["reason"], "host": seen["host"]}
        for seen in one["missing"]
        if seen["at_s"] is not None
    ]
    return [*rates, *lost]


def _panel(one: Json, data: Sequence[Datum], everything: Sequence[Datum]) -> Panel:
    absent = ", ".join(str(seen["host"]) for seen in one["missing"])
    title = f"{one['name']} {str(one['cell']).rpartition('-')[2]}" + (f", without {absent}" if absent else "")
    axis = alt.Axis(title="seconds since windows were to open", tickCount=6)
    x = alt.X("x:Q", axis=axis, scale=alt.Scale(nice=False))
    y = axes.vertical(_METRIC, log=False, values=[float(entry["y"]) for entry in everything])
    rate = [alt.Tooltip("said:N", title="rate"), alt.Tooltip("x:Q", title="at, s", format=".2f")]
    lost = [alt.Tooltip(f"{key}:N", title=said) for key, said in (("host", "host"), ("said", "why"))]
    line = alt.Chart().transform_filter("datum.kind == 'rate'")
    gone = alt.Chart().transform_filter("datum.kind == 'lost'")
    layers: list[Layer] = [
        line.mark_line(color=theme.colour(0), strokeWidth=1.4).encode(x=x, y=y, tooltip=rate),
        gone.mark_rule(color=theme.INK, strokeDash=[4, 3]).encode(x=x, tooltip=lost),
        gone.mark_text(align="left", baseline="top", dx=4, fill=theme.INK).encode(
            x=x, y=alt.value(2), text="host:N", tooltip=lost
        ),
    ]
    return marks.finish(layers, list(data), title=title, height=_HEIGHT, says=title, counts=len(data))
