"""Latency against throughput as load grows; service and response stand apart, with the gap between them drawn."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

import altair as alt

from assay.charts import axes, datum, marks, theme
from assay.charts.model import Datum, Figure, Key, Layer, Panel
from assay.charts.palette import Palette
from assay.report.figures.choose import View
from assay.results import group, labels, row
from assay.results.row import Row
from assay.units import show

HEIGHT = 300
PERCENTILES = ("p50", "p99")
# Share of a panel within which two labels would touch.
_NEAR = 0.07


def draw(view: View, palette: Palette) -> Figure | None:
    """Two panels, median and 99th percentile, for each facet."""
    ask = view.ask
    drawn: list[tuple[str, str, list[Datum]]] = []
    for percentile in PERCENTILES:
        for facet, rows in view.panels():
            title = ", ".join(part for part in (percentile, facet) if part)
            data = _data(view, title, rows, percentile)
            if data:
                drawn.append((title, percentile, data))
    everything = [entry for _, _, data in drawn for entry in data]
    if not everything:
        return None
    keys = palette.keys(ask.series or "class", list(dict.fromkeys(str(entry["series"]) for entry in everything)))
    panels = tuple(_panel(view, title, data, keys, everything) for title, _, data in drawn)
    name = labels.dimension(step_dimension(view))
    notes = [f"Numbers beside points: {name}."] if step_dimension(view) else []
    if any(entry["kind"] == "response" for entry in everything):
        notes.append(
            "Solid: response time from the intended start. Dashed: service time. The grey line between them is waiting."
        )
    else:
        notes.append("Closed loop: operations start when others end, so that waiting is not part of the latency.")
    return Figure(
        ask.id, ask.title, "latency-throughput", ask.caption, panels, keys if len(keys) > 1 else (),
        labels.dimension(ask.series) if ask.series else "", tuple(everything), tuple(notes), wide=True,
    )  # fmt: skip


def step_dimension(view: View) -> str:
    """The factor along a curve: depth, rate or threads."""
    names = list(dict.fromkeys(name for one in view.rows for name in one.cell.factors))
    free = [name for name in names if name not in {view.ask.series, *view.facets}]
    wanted = [name for name in free if name != row.canonical(view.ask.x)]
    known = [name for name in wanted if any(word in name for word in ("depth", "rate", "threads"))]
    return (known or wanted or [""])[0]


def _data(view: View, panel: str, rows: Sequence[Row], percentile: str) -> list[Datum]:
    step, found = step_dimension(view), []
    for (series, at), part in group.by(rows, [view.ask.series or "class", step or "cell"]).items():
        across = group.point(part, _across(view))
        if across is None:
            continue
        for kind in ("service", "response"):
            up = group.point(part, f"{kind}_{percentile}_ns")
            if up is not None:
                found.append(_datum(view, panel, series, (step, at), up, across.value, kind))
    responding = {(entry["series"], entry["head"]) for entry in found if entry["kind"] == "response"}
    for entry in found:
        entry["main"] = entry["kind"] == "response" or (entry["series"], entry["head"]) not in responding
    _gaps(found)
    _thin(found)
    return found


def _thin(data: list[Datum]) -> None:
    """Keeps a label only where no other stands, highest points first."""
    xs = [float(entry["x"]) for entry in data if entry["x"] > 0]
    ys = [float(entry["y"]) for entry in data if entry["y"] > 0]
    if not xs or not ys:
        return
    wide = math.log(max(xs) / min(xs)) or 1.0
    high = math.log(max(ys) / min(ys)) or 1.0
    taken: list[tuple[float, float]] = []
    for entry in sorted(data, key=lambda one: -one["y"]):
        place = (math.log(max(entry["x"], 1e-9)) / wide, math.log(max(entry["y"], 1e-9)) / high)
        near = any(abs(place[0] - one[0]) < _NEAR and abs(place[1] - one[1]) < _NEAR for one in taken)
        entry["text"] = "" if near or not entry["main"] else entry["text"]
        taken += [place] if entry["text"] else []


def _across(view: View) -> str:
    name = row.canonical(view.ask.x)
    return name if name in {"bandwidth", "ops_rate"} else "ops_rate"


def _datum(
    view: View, panel: str, series: Hashable, step: tuple[str, Hashable], up: group.Point, across: float, kind: str
) -> Datum:
    name, at = step
    said = labels.value(name, at) if at is not None else ""
    entry = datum.of(
        up, x_name=name or "class", x=at, series=labels.value(view.ask.series or "class", series), panel=panel
    )
    throughput = show.figure(across, row.unit(_across(view)))
    where = f"{labels.dimension(name)} {said}, {throughput}" if name else throughput
    return {
        **entry,
        "x": datum.number(across),
        "where": where,
        "text": said,
        "head": said,
        "order": _order(at),
        "kind": kind,
    }


def _order(at: Hashable) -> float:
    return float(at) if isinstance(at, (int, float)) else 0.0


def _gaps(data: list[Datum]) -> None:
    service = {(entry["series"], entry["head"]): entry["y"] for entry in data if entry["kind"] == "service"}
    for entry in data:
        below = service.get((entry["series"], entry["head"]))
        entry["service"] = below if entry["kind"] == "response" else None


def _panel(view: View, title: str, data: list[Datum], keys: Sequence[Key], everything: list[Datum]) -> Panel:
    metric = _across(view)
    y = axes.vertical("service_p50", log=True, values=datum.span(everything), heading="latency")
    across_log = axes.wants_log([float(entry["x"]) for entry in everything], view.ask.x_scale)
    xs = [float(entry["x"]) for entry in everything]
    axis = axes.ticked(
        xs, log=across_log, title=row.metric_title(metric), labelExpr=axes.label_expression(row.unit(metric))
    )
    x = alt.X("x:Q", axis=axis, scale=axes.scale(xs, log=across_log))
    layers: list[Any] = [
        *([_gap(x, y), _line(keys, x, y, "!datum.main && !datum.bad", dash=[3, 3])] if _waits(data) else []),
        _line(keys, x, y, "datum.main && !datum.bad", dash=[1, 0]),
        marks.points(keys, x, y),
        *([marks.crosses(x, y)] if any(entry["bad"] for entry in data) else []),
        _steps(keys, x, y),
    ]
    says = f"{view.ask.title} {title}".strip()
    count = sum(1 for entry in data if not entry["bad"])
    return marks.finish(layers, data, title=title, height=HEIGHT, says=says, counts=count)


def _waits(data: list[Datum]) -> bool:
    return any(not entry["main"] and not entry["bad"] for entry in data)


def _gap(x: alt.X, y: alt.Y) -> Layer:
    chart = alt.Chart().mark_rule(stroke=theme.SOFT, opacity=0.4, strokeWidth=1)
    return chart.transform_filter("isValid(datum.service) && !datum.bad").encode(x=x, y=y, y2="service:Q")


def _line(keys: Sequence[Key], x: alt.X, y: alt.Y, keep: str, *, dash: list[int]) -> Layer:
    chart = alt.Chart().mark_line(clip=True, strokeDash=dash, strokeWidth=1.8)
    return chart.transform_filter(keep).encode(x=x, y=y, color=marks.colour(keys), order="order:Q")


def _steps(keys: Sequence[Key], x: alt.X, y: alt.Y) -> Layer:
    chart = alt.Chart().mark_text(dy=-10, fontSize=10).transform_filter("datum.main && !datum.bad")
    return chart.encode(x=x, y=y, text="text:N", color=marks.colour(keys))
