"""A drive on one screen: what it reaches over operations in flight, collected and fresh, with bands and sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import vl_convert

from assay.charts import axes, datum, export, marks
from assay.charts.model import Figure, Key, Panel
from assay.charts.palette import Palette
from assay.target import catalog
from assay.twin.envelope import DEPTHS, Load, Reached, reached
from assay.units import show
from assay.untyped import Json

_HEIGHT = 250
# Series of the card: its name, and the load at a depth.
_LOADS = {
    "reads": Load(),
    "writes, collected": Load("write"),
    "writes, fresh": Load("write", fresh=True),
    "70 % reads, collected": Load(read_percent=70.0),
}
# Sources that fill most parameters; the file has them all.
_SOURCES = 3


def draw(twin: Json) -> Figure:
    """The card of a drive. Reads of a fresh drive are those of a collected one."""
    keys = Palette().keys("load", list(_LOADS))
    curves = {name: reached(twin, [_at(load, depth) for depth in DEPTHS]) for name, load in _LOADS.items()}
    panels, everything = [], []
    for title, metric, of in (
        ("operations", "ops_per_s", _rate),
        ("median", "p50_ns", lambda one: (one.p50_ns, None)),
        ("99th percentile", "p99_ns", lambda one: (one.p99_ns, None)),
    ):
        data = [_point(title, metric, name, one, *of(one)) for name, curve in curves.items() for one in curve]
        panels.append(_panel(title, metric, data, keys))
        everything += data
    caption = " ".join(_caption(twin))
    title = f"{twin['title']}, {show.size(twin['capacity_bytes']['value'])}, modelled"
    return Figure(twin["name"], title, "line", caption, tuple(panels), keys, "", tuple(everything), wide=True)


def write(twin: Json, path: Path) -> None:
    """The card as SVG.

    Raises:
        OSError: where the file cannot be written.
    """
    path.write_text(vl_convert.vegalite_to_svg(export.whole(draw(twin))), encoding="utf-8")


def _at(load: Load, depth: int) -> Load:
    return Load(load.operation, in_flight=depth, read_percent=load.read_percent, fresh=load.fresh)


def _rate(one: Reached) -> tuple[float, float | None]:
    return one.ops_per_s, one.band


def _point(panel: str, metric: str, series: str, one: Reached, value: float, band: float | None) -> Json:
    unit = "ops/s" if metric == "ops_per_s" else "ns"
    low, high = (None, None) if band is None else (datum.number(value / (1 + band)), datum.number(value * (1 + band)))
    return {
        "panel": panel,
        "series": series,
        "x": one.load.in_flight,
        "where": f"{one.load.in_flight} in flight",
        "metric": metric,
        "y": datum.number(value),
        "unit": unit,
        "low": low,
        "high": high,
        "verdict": "valid",
        "provenance": "modelled",
        "cell": "",
        "said": show.figure(value, unit),
        "bounds": "" if low is None or high is None else show.span(low, high, unit),
        "hollow": False,
        "bad": False,
    }


def _panel(title: str, metric: str, data: Sequence[Json], keys: Sequence[Key]) -> Panel:
    x = axes.factor("depth", list(DEPTHS), "log")
    axis = "4 KiB at random, a second" if metric == "ops_per_s" else "time of a request"
    y = axes.vertical(metric, log=True, values=datum.span(data), heading=axis)
    rules = [marks.bounds(keys, x, lambda name: marks.at(y, name))] if marks.bounded(data) else []
    layers = [*rules, marks.lines(keys, x, y), marks.points(keys, x, y, size=26)]
    return marks.finish(layers, list(data), title=title, height=_HEIGHT, says=title, counts=len(data))


def _caption(twin: Json) -> list[str]:
    """Bands, how many parameters of which kind, and where most of them come from."""
    band = {name: value["value"] for name, value in twin["band"].items()}
    found = [one for _, one in catalog.parameters({**twin, "band": {}})]
    kinds = ", ".join(f"{count} {kind}" for kind, count in Counter(one["kind"] for one in found).most_common())
    known = Counter(one["source"] for one in found if one["kind"] != "assumed").most_common(_SOURCES)
    told = [f"Rules are the band of rates, within {band['bandwidth']:.0%}; medians {band['latency']:.0%},"]
    told.append(f"99th percentiles a factor of {1 + band['tail']:g}. Parameters: {kinds}.")
    told.append("Collected: full, and overwritten for long; fresh: half full, ten seconds of writes.")
    sources = "; ".join(f"{source} ({count})" for source, count in known)
    return [*told, f"Sources of most that is not assumed: {sources}." if sources else "All parameters are assumed."]
