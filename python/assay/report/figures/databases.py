"""Figures of databases out of work records: queries by target, transactions, ratios of wtperf.

Records that are invalid are left out: they stand in the report's tables with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import altair as alt

from assay.charts import axes, datum, marks, theme
from assay.charts.model import Datum, Figure, Key, Panel
from assay.charts.palette import Palette
from assay.record import WorkPart
from assay.results import bound, labels
from assay.results.repeats import together
from assay.results.work import Work
from assay.units import show
from assay.untyped import Json

_BAR, _GAP = 11, 9
_PERCENTILES = {"p50": "p50_ns", "p90": "p90_ns", "p99": "p99_ns", "p99.9": "p999_ns"}
_WTPERF = "wtperf-"


def draw(works: Sequence[Work], palette: Palette) -> Iterator[Figure]:
    """Every figure that the records give."""
    sound = [one for one in works if one.status != "invalid"]
    for make in (queries, series, latency, ratios):
        figure = make(sound, palette)
        if figure is not None:
            yield figure


def queries(works: Sequence[Work], palette: Palette) -> Figure | None:
    """Time of every query as bars, a colour per target, a panel per protocol. Whiskers reach from the fastest run to
    the slowest, or over the band of what was predicted."""
    data = [row for one in together(_of(works, "tpch")) for part in one.record["parts"] for row in _query(one, part)]
    if not data:
        return None
    keys = palette.keys("database and target", _distinct(data, "series"))
    panels = [_bars(rows, keys, title) for title, rows in _grouped(data, "panel")]
    caption = "Time to the last row of each query. A whisker reaches from the fastest run to the slowest."
    return _figure("database-queries", "TPC-H-like: each query by target", "bar", caption, panels, keys, data)


def _query(one: Work, part: WorkPart) -> list[Datum]:
    figures, facts = part["figures"], part.get("facts") or {}
    seconds = figures.get("time_s")
    if seconds is None:
        return []
    band = seconds.get("band") or {}
    low = band.get("low", figures.get("lowest_s", seconds)["value"])
    high = band.get("high", figures.get("highest_s", seconds)["value"])
    whole, low, high = (value * 1e9 for value in (seconds["value"], low, high))
    said = f"{show.time(whole)} ({seconds['provenance']})"
    more = {"class": facts.get("class", ""), "node": facts.get("dominant_node", "")}
    where = ", ".join(filter(None, (str(part["name"]), *more.values(), facts.get("against_first", ""))))
    panel = str(one.parameters.get("protocol", ""))
    row = _row(one, str(part["name"]), whole, "ns", said, panel=panel, where=where)
    return [{**row, **more, "low": low, "high": high, "bounds": f"{show.time(low)} to {show.time(high)}"}]


def _bars(data: Sequence[Datum], keys: Sequence[Key], title: str) -> Panel:
    names, series_ = _distinct(data, "x"), [key.label for key in keys]
    band = alt.Scale(type="band", domain=series_, paddingInner=0.1)
    place: Json = {
        "y": alt.Y("x:N", sort=names, axis=alt.Axis(title=None, labelColor=theme.INK)),
        "yOffset": alt.YOffset("series:N", sort=series_, scale=band),
    }
    values = datum.span(data)
    axis = axes.ticked(values, log=False, labelExpr=axes.label_expression("ns"), title=None, **axes.BELOW)
    x = alt.X("y:Q", axis=axis, scale=alt.Scale(zero=True))
    pale = alt.ConditionalPredicateValueDefnumberExprRef(test="datum.hollow", value=0.35)
    opacity = alt.OpacityValue(value=1, condition=pale)
    drawn = {"color": marks.colour(keys), "opacity": opacity, "tooltip": datum.tooltip()}
    bars = alt.Chart().mark_bar(cornerRadiusEnd=2).encode(x=x, **place, **drawn)
    low = x.copy()
    low.shorthand = "low:Q"
    ends = alt.Chart().mark_rule(stroke=theme.INK, opacity=0.7).encode(x=low, x2="high:Q", **place)
    height = len(names) * (_BAR * len(keys) + _GAP)
    return marks.finish([bars, ends], data, title=title, height=height, says=f"queries {title}", counts=len(data))


def series(works: Sequence[Work], palette: Palette) -> Figure | None:
    """Transactions a second over the window, a line per run."""
    data = [
        _row(
            one, point["at_s"], point["operations"] / point["length_s"], "1/s", f"{point['operations']:,} transactions"
        )
        for one in _of(works, "tpcc")
        for point in one.record.get("intervals") or ()
        if point["length_s"] > 0
    ]
    if not data:
        return None
    keys = palette.keys("database and target", _distinct(data, "series"))
    x = alt.X("x:Q", axis=alt.Axis(title="seconds into the window", tickCount=6), scale=alt.Scale(nice=False))
    y = alt.Y("y:Q", axis=alt.Axis(title="transactions a second", format="~s"), scale=alt.Scale(zero=True))
    # Runs of one place have one colour, and are lines of their own.
    lines = marks.lines(keys, x, y).encode(detail="cell:N", tooltip=datum.tooltip())
    panel = marks.finish([lines], data, title="", height=220, says="transactions over time", counts=len(data))
    caption = "All five transactions together, a line for each run."
    return _figure("database-series", "TPC-C-like: throughput over time", "timeseries", caption, [panel], keys, data)


def latency(works: Sequence[Work], palette: Palette) -> Figure | None:
    """Percentiles of each transaction of TPC-C, a panel for each, from the intended start where there is one."""
    data = [row for one in _of(works, "tpcc") for part in one.record["parts"] for row in _percentiles(one, part)]
    if not data:
        return None
    keys = palette.keys("database and target", _distinct(data, "series"))
    panels = [_quantiles(rows, keys, title) for title, rows in _grouped(data, "panel")]
    caption = "From the intended start where transactions had a rate, otherwise from the actual one."
    return _figure("database-latency", "TPC-C-like: latency of each transaction", "line", caption, panels, keys, data)


def _percentiles(one: Work, part: WorkPart) -> list[Datum]:
    found = part.get("response") or part.get("service")
    if not found or not found["count"]:
        return []
    values = cast("dict[str, float]", found)
    counted = "from the intended start" if part.get("response") else "from the actual start"
    panel = str(part["name"]).replace("_", " ")
    return [
        _row(
            one,
            name,
            max(values[key], 1),
            "ns",
            bound.time(values, key),
            panel=panel,
            where=f"{name}, {counted}",
        )
        for name, key in _PERCENTILES.items()
    ]


def _quantiles(data: Sequence[Datum], keys: Sequence[Key], title: str) -> Panel:
    x = alt.X("x:N", sort=list(_PERCENTILES), axis=alt.Axis(title=None, labelAngle=0))
    values = [float(row["y"]) for row in data]
    axis = axes.ticked(values, log=True, labelExpr=axes.label_expression("ns"), title=None)
    y = alt.Y("y:Q", axis=axis, scale=axes.scale(values, log=True))
    layers = [marks.lines(keys, x, y).encode(detail="cell:N"), marks.points(keys, x, y)]
    return marks.finish(layers, data, title=title, height=170, says=f"latency of {title}", counts=len(data))


def ratios(works: Sequence[Work], palette: Palette) -> Figure | None:
    """wtperf: rate of each kind of operation against the first target, a row per workload and page cache."""
    data = [row for one in works for part in one.record["parts"] for row in _ratio(one, part)]
    if not data:
        return None
    keys = palette.keys("database and target", _distinct(data, "series"))
    names, values = _distinct(data, "x"), [float(row["y"]) for row in data]
    y, heads, height = marks.headed(names, 12.0, 4.0)
    scale = alt.Scale(type="log", domain=[min(0.5, *values) * 0.9, max(2.0, *values) * 1.1], nice=False)
    x = alt.X(
        "y:Q", axis=alt.Axis(title="of the first target's rate", values=[0.1, 0.2, 0.5, 1, 2, 5, 10]), scale=scale
    )
    equal = alt.Chart().mark_rule(strokeDash=[4, 3], stroke=theme.SOFT).encode(x=alt.datum(1.0))
    panel = marks.finish(
        [equal, marks.points(keys, x, y), heads], data, title="", height=height, says="ratios", counts=len(data)
    )
    firsts = {str(one.parameters["compared_with"]) for one in works if "compared_with" in one.parameters}
    first = labels.clean(firsts.pop()) if len(firsts) == 1 else "the first target"
    others = ", ".join(_distinct(data, "series"))
    caption = f"{others}: left of the line slower than on {first}, right of it faster; the record says what was shown."
    return _figure("database-ratios", "wtperf: rates against the first target", "bar", caption, [panel], keys, data)


def _ratio(one: Work, part: WorkPart) -> list[Datum]:
    figure = part["figures"].get("of_first_ratio")
    if figure is None or not one.workload.startswith(_WTPERF):
        return []
    cache = one.parameters.get("page_cache", "")
    name = f"{one.workload.removeprefix(_WTPERF)}: {part['name']}, page cache {cache}"
    said = f"{figure['value']:.3g} times"
    where = (part.get("facts") or {}).get("against_first", "")
    return [_row(one, name, figure["value"], "ratio", said, where=where)]


def _row(one: Work, x: Any, y: float, unit: str, said: str, *, panel: str = "", where: str = "") -> Datum:
    return {
        "panel": panel, "series": _run(one), "x": x, "where": where or str(x), "y": datum.number(y), "unit": unit,
        "low": None, "high": None, "verdict": one.status, "provenance": one.provenance, "cell": one.anchor,
        "said": said, "bounds": "no interval", "hollow": one.status == "suspect", "bad": False,
    }  # fmt: skip


def _figure(
    name: str,
    title: str,
    kind: str,
    caption: str,
    panels: Sequence[Panel],
    keys: Sequence[Key],
    data: Sequence[Datum],
) -> Figure:
    wide = len(panels) > 1 or kind != "bar"
    return Figure(name, title, kind, caption, tuple(panels), tuple(keys), "", tuple(data), wide=wide)


def _of(works: Sequence[Work], workload: str) -> list[Work]:
    return [one for one in works if one.kind == "database" and one.workload == workload]


def _run(one: Work) -> str:
    target = next((str(each["target"]) for each in one.record["targets"] if each["role"] == "data"), "")
    return labels.clean(f"{one.subject} on {target}" if target else one.subject)


def _distinct(data: Sequence[Datum], name: str) -> list[str]:
    return list(dict.fromkeys(str(row[name]) for row in data))


def _grouped(data: Sequence[Datum], name: str) -> list[tuple[str, list[Datum]]]:
    return [(title, [row for row in data if row[name] == title]) for title in _distinct(data, name)]


__all__ = ["draw", "latency", "queries", "ratios", "series"]
