"""The ladder: what each step buys. Bandwidth of all classes stacked, CPU cycles per byte beside it."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from assay.charts import axes, datum, marks, theme
from assay.charts import palette as palettes
from assay.charts.model import Ask, Datum, Figure, Key, Panel
from assay.charts.palette import Palette
from assay.report.figures.rungs import LadderStep, places
from assay.results import labels
from assay.results.folder import Cell
from assay.results.row import Row
from assay.units import show

_BODY = 17.0


def draw(ask: Ask, cells: Sequence[Cell], rows: Sequence[Row], palette: Palette) -> Figure | None:
    """The figure; none where no rung was measured."""
    found = [(title, part) for title, part in places(ask, cells, rows) if any(step.classes for step in part)]
    if not found:
        return None
    names = list(dict.fromkeys(name for _, part in found for step in part for name in step.classes))
    keys = palette.keys("class", names)
    panels, data = [], []
    for title, part in found:
        bars = [{**entry, "panel": _titled("Bandwidth", title)} for step in part for entry in _stack(step)]
        costs = [{**_cost(step), "panel": _titled("CPU", title)} for step in part if step.cycles_per_byte is not None]
        order = [step.label for step in part]
        panels.append(_bandwidth(ask, bars, [_end(step) for step in part], keys, order, _titled("Bandwidth", title)))
        panels += [_cycles_panel(costs, order, _titled("CPU", title))] if costs else []
        data += bars + costs
    missing = {step.label: step.reason for _, part in found for step in part if not step.classes}
    notes = tuple(f"{label} was not measured: {reason}" for label, reason in missing.items())
    return Figure(ask.id, ask.title, "ladder", ask.caption, tuple(panels), keys, "class", tuple(data), notes, wide=True)


def _titled(what: str, place: str) -> str:
    return f"{what}, {place}" if place else what


def _stack(step: LadderStep) -> list[Datum]:
    found, base = [], 0.0
    for name, point in step.classes.items():
        entry = datum.of(point, x_name="class", x=name, series=name, panel="bandwidth")
        found.append({**entry, "x": step.label, "where": step.label, "from": base, "to": base + point.value})
        base += point.value
    return found


def _end(step: LadderStep) -> Datum:
    if not step.classes:
        return {"x": step.label, "to": 0.0, "text": "not measured", "missing": True}
    mark = "" if step.status == "valid" else f"  {labels.STATUS_MARK[step.status]} {step.status}"
    return {"x": step.label, "to": step.total, "text": show.rate(step.total) + mark, "missing": False}


def _cost(step: LadderStep) -> Datum:
    value = step.cycles_per_byte or 0.0
    point = next(iter(step.classes.values()))
    return {
        **datum.of(point, x_name="class", x="all", series="all classes", panel="cycles per byte"),
        "x": step.label,
        "where": step.label,
        "metric": "cycles_per_byte",
        "unit": "cycles/byte",
        "y": datum.number(value),
        "low": None,
        "high": None,
        "interval": "",
        "instrument": "",
        "verdict": step.status,
        "said": show.significant(value),
        "bounds": "no interval",
    }


def _axis(name: str, expression: str, title: str) -> alt.X:
    axis = axes.ticked([], log=False, count=3, labelExpr=expression, title=title, **axes.BELOW)
    return alt.X(f"{name}:Q", axis=axis)


def _paled(valid: float, suspect: float, invalid: float) -> alt.FillOpacityValue:
    """The less a record is worth, the less of it is seen."""
    steps = [("suspect", suspect), ("invalid", invalid)]
    conditions = [
        alt.ConditionalPredicateValueDefnumberExprRef(test=f"datum.verdict == '{name}'", value=value)
        for name, value in steps
    ]
    return alt.FillOpacityValue(value=valid, condition=conditions)


def _bandwidth(
    ask: Ask, bars: list[Datum], ends: list[Datum], keys: Sequence[Key], order: list[str], title: str
) -> Panel:
    x = _axis("from", axes.label_expression("bytes/s"), "all classes together")
    y, heads, height = marks.headed(order, _BODY)
    stack = (
        alt.Chart()
        .mark_bar(stroke=theme.PAPER, strokeWidth=1)
        .encode(
            x=x,
            x2="to:Q",
            y=y,
            fill=alt.Fill("series:N", scale=palettes.scale(keys, "color"), legend=None, title="class"),
            fillOpacity=_paled(1, 0.55, 0.3),
            tooltip=datum.tooltip(),
        )
    )
    said = (
        alt.Chart(alt.InlineData(values=ends))
        .mark_text(align="left", dx=6, fontSize=11.5)
        .encode(
            x="to:Q",
            y=y,
            text="text:N",
            color=alt.ColorValue(
                value=theme.INK,
                condition=alt.ConditionalPredicateValueDefGradientstringnullExprRef(
                    test="datum.missing", value=theme.SOFT
                ),
            ),
        )
    )
    panel = marks.finish([stack, said, heads], bars, title=title, height=height, says=ask.title, counts=len(bars))
    longest = max(len(str(entry["text"])) for entry in ends if not entry["missing"])
    return marks.pad_right(panel, longest * marks.LABEL_ROOM + 10)


def _cycles_panel(data: list[Datum], order: list[str], title: str) -> Panel:
    x = _axis("y", axes.label_expression("cycles/byte"), "CPU cycles per byte, whole process")
    y, heads, height = marks.headed(order, _BODY)
    bar = (
        alt.Chart()
        .mark_bar(fill=theme.SOFT)
        .encode(x=x, y=y, fillOpacity=_paled(0.6, 0.35, 0.2), tooltip=datum.tooltip())
    )
    said = alt.Chart().mark_text(align="left", dx=6, fontSize=11.5).encode(x="y:Q", y=y, text="said:N")
    panel = marks.finish(
        [bar, said, heads], data, title=title, height=height, says="CPU cycles per byte", counts=len(data)
    )
    return marks.pad_right(panel, 44)
