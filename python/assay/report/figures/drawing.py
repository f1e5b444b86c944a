"""The figures that a study declares, each drawn by the module of its kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from assay.charts.model import Ask, Figure, Key, Panel
from assay.charts.palette import Palette
from assay.report.figures import bar, cdf, heat, interference, ladder, latency, line, series
from assay.report.figures.choose import View, choose
from assay.results import labels, row
from assay.results.folder import Cell, Study
from assay.results.row import Row
from assay.units import show

__all__ = ["Ask", "Figure", "Key", "Palette", "Panel", "draw", "draw_all"]

_AHEAD = 2.0
_LOADS = ("depth", "queue_depth", "rate_per_s", "rate", "threads")
_SERIAL: dict[str, Callable[[View, Palette], Figure | None]] = {
    "line": line.draw,
    "bar": bar.draw,
    "timeseries": series.draw,
    "cdf": cdf.draw,
    "latency-throughput": latency.draw,
    "heatmap": lambda view, _: heat.draw(view),
}


def draw_all(study: Study, cells: Sequence[Cell], palette: Palette) -> list[Figure]:
    """All figures that a study declares, or one that suits it where it declares none."""
    rows = row.rows(cells)
    if not rows:
        return []
    asks = [Ask.read(entry, index) for index, entry in enumerate(study.figures)] or [_default(rows)]
    drawn = (draw(replace(ask, id=f"{study.name}-{ask.id}"), cells, rows, palette) for ask in asks)
    return [figure for figure in drawn if figure is not None]


def draw(ask: Ask, cells: Sequence[Cell], rows: Sequence[Row], palette: Palette) -> Figure | None:
    """One figure; none where nothing was measured that it could show."""
    if ask.kind == "ladder":
        return ladder.draw(ask, cells, rows, palette)
    if ask.kind == "interference":
        return interference.draw(ask, cells, rows)
    if ask.kind not in _SERIAL:
        return draw(replace(ask, kind="line"), cells, rows, palette)
    view = _view(ask, rows)
    if view is not None and ask.kind == "line" and (flat := _without_width(view)):
        return draw(flat, cells, rows, palette)
    drawn = _SERIAL[ask.kind](view, palette) if view else None
    return _noted(drawn, view) if drawn is not None and view is not None else None


def _view(ask: Ask, rows: Sequence[Row]) -> View | None:
    if ask.kind == "latency-throughput":
        return _curve(ask, rows)
    if ask.kind == "timeseries":
        return choose(replace(ask, x="repeat", series=ask.series or "class"), rows, default_y="bandwidth")
    if ask.kind == "cdf":
        return choose(replace(ask, x="repeat"), rows, default_y="service_p50")
    return choose(ask, rows, default_y="bandwidth")


def _without_width(view: View) -> Ask | None:
    """Bars in place of lines where all points stand above one value of x."""
    ask, names = view.ask, [name for name in (view.ask.series, *view.facets) if name]
    values = {one.key(ask.x) for one in view.rows}
    if len(values) != 1 or not names or ask.x == "class":
        return None
    only = f"{labels.dimension(ask.x)}: {labels.value(ask.x, next(iter(values)))} alone was measured."
    caption = f"{ask.caption} {only[:1].upper()}{only[1:]}".strip()
    return replace(ask, kind="bar", x=names[0], series="", facet=",".join(names[1:]), caption=caption)


def _curve(ask: Ask, rows: Sequence[Row]) -> View | None:
    """The factor along the curve takes the place of x while dimensions are chosen."""
    names = [name for name in _LOADS if any(name in one.cell.factors for one in rows)]
    along = next((name for name in names if name != ask.series and len({one.dimension(name) for one in rows}) > 1), "")
    view = choose(replace(ask, x=along), rows, default_y="service_p99")
    return replace(view, ask=replace(view.ask, x=ask.x)) if view else None


def _noted(figure: Figure, view: View) -> Figure:
    notes = list(figure.notes)
    if any(entry.get("hollow") for entry in figure.data):
        notes.append("Hollow or pale: suspect, or weakly supported.")
    if any(entry.get("bad") for entry in figure.data):
        notes.append("A cross: invalid; the table has the reasons.")
    notes += _read_ahead(view.rows)
    if view.left_out():
        notes.append(f"{view.left_out()} more panels are left out; all figures are in the table and the Parquet files.")
    return replace(figure, notes=tuple(notes))


def _read_ahead(rows: Sequence[Row]) -> list[str]:
    """Why some reads take far longer than the device does: it read many times what was asked for."""
    most: dict[str, float] = {}
    for one in rows:
        for reason in one.record["verdict"].get("reasons") or ():
            numbers = reason.get("numbers") or {}
            asked = float(numbers.get("asked_bytes") or 0)
            if reason.get("code") == "device-bytes-differ" and asked > 0:
                times = float(numbers.get("device_bytes") or 0) / asked
                most[one.path_label] = max(times, most.get(one.path_label, 0.0))
    return [
        f"Through {name} the device read up to {show.times(times)} what was asked for: the kernel reads ahead around"
        " each miss, and a miss waits for all of it."
        for name, times in most.items()
        if times >= _AHEAD
    ]


def _default(rows: Sequence[Row]) -> Ask:
    numeric = any(isinstance(one.dimension(name), (int, float)) for one in rows for name in one.cell.factors)
    return Ask(id="overview", kind="line" if numeric else "bar", title="Bandwidth", y="bandwidth")
