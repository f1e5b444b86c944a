"""Axes that speak in units people read: the data stay in base units, the labels do not."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Sequence
from typing import Any

import altair as alt

from assay.results import labels, row

_STEPS = {
    "bytes/s": ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1, "B/s")),
    "bytes": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B")),
    "ns": ((1e9, "s"), (1e6, "ms"), (1e3, "us"), (1, "ns")),
    "ops/s": ((1e6, "M"), (1e3, "k"), (1, "")),
}


def label_expression(unit: str) -> str:
    """Vega expression that writes a tick in its unit."""
    steps = _STEPS.get(unit, ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1, "")))
    text = "format(datum.value, '~g')"
    for factor, name in reversed(steps):
        tail = f" + ' {name}'" if name else ""
        text = f"abs(datum.value) >= {factor:.0f} ? format(datum.value / {factor:.0f}, '~g'){tail} : {text}"
    return f"datum.value == 0 ? '0' : {text}"


def vertical(metric: str, *, log: bool, values: Sequence[float], heading: str = "") -> alt.Y:
    """The axis of a metric. A logarithmic one ends at whole decades, so that one series does not fill it."""
    axis = ticked(values, log=log, labelExpr=label_expression(row.unit(metric)), title=heading or title(metric))
    return alt.Y("y:Q", axis=axis, scale=scale(values, log=log))


# A horizontal axis below bars: its lines are a grid, and its labels never leave the plot.
BELOW: dict[str, Any] = {"grid": True, "domain": False, "ticks": False, "labelFlush": True, "labelOverlap": "greedy"}


def ticked(values: Sequence[float], *, log: bool, count: int = 5, **more: Any) -> alt.Axis:
    """An axis with few ticks; a logarithmic one has them at 1, 2 and 5, or at decades alone."""
    positive = [value for value in values if value > 0]
    if not log or not positive:
        return alt.Axis(tickCount=count, **more)
    low, high = _below(min(positive)), _above(max(positive))
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1,) if high / low > 3000 else (1, 3) if high / low > 200 else (1, 2, 5)
    ticks = [step * 10.0**decade for decade in decades for step in steps]
    return alt.Axis(values=[tick for tick in ticks if low * 0.999 <= tick <= high * 1.001], **more)


def title(metric: str) -> str:
    """Name of a metric; ticks carry its unit."""
    return row.metric_title(metric)


def scale(values: Sequence[float], *, log: bool) -> alt.Scale:
    """Linear from zero, or logarithmic around the data."""
    positive = [value for value in values if value > 0]
    if not log or not positive:
        return alt.Scale(zero=True, nice=True)
    low, high = min(positive), max(positive)
    return alt.Scale(type="log", domain=[_below(low), _above(high)], nice=False)


def _below(value: float) -> float:
    decade = 10.0 ** math.floor(math.log10(value))
    return max(step * decade for step in (1, 2, 5) if step * decade <= value * 1.0001)


def _above(value: float) -> float:
    decade = 10.0 ** math.floor(math.log10(value))
    return min(step * decade for step in (1, 2, 5, 10, 20) if step * decade >= value * 1.04)


def wants_log(values: Sequence[float], asked: str, *, beyond: float = 30.0) -> bool:
    """Whether an axis should be logarithmic: where asked for, and where values span more than `beyond` fold."""
    positive = [value for value in values if value > 0]
    if asked == "log":
        return bool(positive)
    return bool(positive) and len(positive) == len(values) and max(positive) / min(positive) > beyond


def factor(name: str, values: Sequence[Hashable], asked: str) -> alt.X:
    """The axis of a factor: its own values are the ticks."""
    numbers = [float(value) for value in values if isinstance(value, (int, float))]
    heading = labels.dimension(name)
    if len(numbers) != len(values) or not numbers:
        names = [labels.value(name, value) for value in values]
        return alt.X("x:N", sort=names, axis=alt.Axis(title=heading, labelAngle=0, labelLimit=90))
    words = json.dumps({_key(value): labels.value(name, value) for value in numbers})
    axis: dict[str, Any] = {"title": heading, "labelOverlap": "greedy", "labelFlush": False}
    if len(numbers) <= 16:
        axis["values"] = numbers
        axis["labelExpr"] = f"({words})[datum.value] || datum.label"
    doubling = len(numbers) > 2 and min(numbers) > 0 and max(numbers) / min(numbers) >= 8
    if min(numbers) > 0 and (asked == "log" or doubling):
        found = alt.Scale(type="log", base=2, nice=False, domain=[min(numbers), max(numbers)], padding=12)
    else:
        found = alt.Scale(zero=False, nice=False, domain=[min(numbers), max(numbers)], padding=12)
    return alt.X("x:Q", axis=alt.Axis(**axis), scale=found)


def _key(value: float) -> str:
    """A number as JavaScript writes it."""
    return str(int(value)) if value.is_integer() else repr(value)
