"""Pictures of a study's claims: predicted against published, where the time goes, series with their cliffs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import altair as alt

from assay.charts import marks, palette, theme
from assay.charts.model import Datum, Figure, Key, Layer, Panel
from assay.charts.palette import Palette
from assay.results import labels
from assay.units import show
from assay.untyped import Json

_HEIGHT = 300
# What a unit measures; prices are computed, not predicted, and stand in the table alone.
_KINDS = {
    "B/s": "bandwidth", "MB/s": "bandwidth", "GB/s": "bandwidth", "MiB/s": "bandwidth", "GiB/s": "bandwidth",
    "1/s": "rate", "ns": "time", "us": "time", "ms": "time", "s": "time", "cycles/byte": "cycles per byte",
    "-": "ratio",
}  # fmt: skip
_PARTS = {"host": "host CPU", "wait": "path", "queue": "queue", "device": "device", "flush": "flush"}
_MOST_RUNS = 14
_MOST_POINTS = 200


def draw(found: Json, palette_: Palette) -> list[Figure]:
    """All pictures that the document of a reproduction holds data for."""
    drawn = (predicted(found, palette_), times(found, palette_), series(found, palette_))
    return [figure for figure in drawn if figure is not None]


def predicted(found: Json, palette_: Palette) -> Figure | None:
    """Published figures across, modelled over published up, with bands; one is exact."""
    data = list(_points(found))
    if not data:
        return None
    keys = palette_.keys("kind of figure", list(dict.fromkeys(str(entry["series"]) for entry in data)))
    panels = tuple(_of_kind(found, [entry for entry in data if entry["series"] == key.label], key) for key in keys)
    caption = (
        "Each point is a published figure; up is what the twin gives, as a multiple of it, with the twin's band. The "
        "pale stripe is 10 % either way. Hollow: not reproduced, or in direction only. Hover for the claim."
    )
    title = f"{found['study']}: predicted against published"
    return Figure(f"claims-{found['study']}", title, "claims", caption, panels, keys, "figure", tuple(data), wide=True)


# One unit for each axis: what a published figure is multiplied by, and the unit that comes out.
_SCALES = {
    "GB/s": (1.0, "GB/s"), "MB/s": (1e-3, "GB/s"), "GiB/s": (2**30 / 1e9, "GB/s"), "MiB/s": (2**20 / 1e9, "GB/s"),
    "ns": (1e-3, "us"), "us": (1.0, "us"), "ms": (1e3, "us"), "s": (1e6, "us"),
}  # fmt: skip


# Large figures of an axis in short, so that they do not run into each other: 1M, not 1,000,000.
_SHORT = "datum.value >= 1e4 ? format(datum.value, '~s') : format(datum.value, ',~g')"


def _points(found: Json) -> Iterator[Datum]:
    for row in found["claims"]:
        modelled, kind = row["modelled"], _KINDS.get(row["unit"])
        middle = _middle(row["published"])
        if modelled is None or kind is None or not middle or row.get("given") or modelled["value"] <= 0:
            continue
        here = (row.get("here") or {}).get("value")
        yield {
            "series": kind,
            "panel": kind,
            "x": middle * _SCALES.get(row["unit"], (1.0, row["unit"]))[0],
            "axis": _SCALES.get(row["unit"], (1.0, row["unit"]))[1],
            "y": modelled["value"] / middle,
            "low": modelled["low"] / middle,
            "high": modelled["high"] / middle,
            "unit": row["unit"],
            "claim": f"{row['claim']}: {row['setup']}, {row['metric']}",
            "published": f"{middle:.4g} {row['unit']}".removesuffix(" -"),
            "modelled": f"{modelled['value']:.4g} ({modelled['low']:.3g} to {modelled['high']:.3g})",
            "here": "" if here is None else f"{here:.4g}",
            "verdict": row["verdict"],
            "provenance": "modelled",
            "hollow": row["verdict"] != "reproduced",
            "bad": False,
            "anchor": run_anchor(str(found["study"]), "twin", row["runs"][0]) if row.get("runs") else "",
        }


def run_anchor(study: str, side: str, run: str) -> str:
    """Where a page shows a run behind the claims of a study."""
    return f"run-{study}-{side}-{run}"


def _middle(published: float | Sequence[float] | None) -> float | None:
    if published is None:
        return None
    if isinstance(published, (int, float)):
        return float(published)
    return float(sum(published) / len(published))


def _of_kind(found: Json, data: list[Datum], key: Key) -> Panel:
    ratios = [float(entry[name]) for entry in data for name in ("y", "low", "high")]
    low, high = min(0.5, *ratios) * 0.9, max(2.0, *ratios) * 1.1
    units_ = list(dict.fromkeys(str(entry["axis"]) for entry in data))
    heading = f"published, {' or '.join(units_)}".replace(", -", "")
    across = alt.Axis(title=heading, tickCount=4, labelExpr=_SHORT)
    x = alt.X("x:Q", scale=alt.Scale(type="log", nice=False, padding=14), axis=across)
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    ticks = [tick for tick in (0.01, 0.03, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 100) if low <= tick <= high]
    axis = alt.Axis(title="modelled / published", values=ticks, labelExpr="format(datum.value, '~g') + 'x'")
    y = alt.Y("y:Q", scale=scale, axis=axis)
    stripe = alt.InlineData(values=[{"y": 1 / 1.1, "to": 1.1}])
    says = ["claim", "published", "modelled", "here", "verdict"]
    layers: list[Layer] = [
        alt.Chart(stripe).mark_rect(fill=theme.LINE, opacity=0.6).encode(y=y, y2="to:Q"),
        alt.Chart(alt.InlineData(values=[{"y": 1}])).mark_rule(stroke=theme.SOFT).encode(y=y),
        marks.bounds([key], x, lambda name: marks.at(y, name)),
        marks.points([key], x, y).encode(tooltip=[alt.Tooltip(f"{name}:N") for name in says]),
    ]
    return marks.finish(
        layers,
        data,
        title=f"{key.label}, {len(data)}",
        height=_HEIGHT,
        says=f"{found['study']} {key.label}",
        counts=len(data),
    )


def times(found: Json, palette_: Palette) -> Figure | None:
    """Where the time of one operation goes on the twins: host, path, queue, device, flush."""
    chosen = _chosen(found.get("time") or [])
    if not chosen:
        return None
    keys = palette_.keys("time", list(_PARTS.values()))
    data = [entry for one in chosen for entry in _stack(one)]
    names = list(dict.fromkeys(str(entry["x"]) for entry in data))
    y, heads, height = marks.headed(names, 13.0, 6.0)
    x = alt.X("from:Q", axis=alt.Axis(title="share of an operation's time", format="%", tickCount=5), scale=_SHARE)
    bars = (
        alt.Chart()
        .mark_rect()
        .encode(x=x, x2="to:Q", y=y, color=marks.colour(keys), tooltip=[alt.Tooltip(f"{n}:N") for n in _TIME_SAYS])
    )
    ends = alt.Chart(alt.InlineData(values=[_end(one) for one in chosen])).mark_text(align="right", dy=-12, fontSize=11)
    end = ends.encode(x=alt.value("width"), y=y, text="said:N")
    panel = marks.finish(
        [bars, heads, end], data, title="", height=height, says="where the time goes", counts=len(data)
    )
    caption = (
        "Of each class on the twin: time on the host's CPU, in the path, waiting in queues, in the device, flushing."
    )
    title = f"{found['study']}: where the time goes"
    return Figure(f"time-{found['study']}", title, "bar", caption, (panel,), keys, "time in", tuple(data), wide=True)


_SHARE = alt.Scale(domain=[0, 1], nice=False)
_TIME_SAYS = ("x", "series", "said")


def _chosen(entries: Sequence[Json]) -> list[Json]:
    """Runs of several classes first: there it matters where each waits; then others, up to what can be read."""
    counts: dict[str, int] = {}
    for one in entries:
        counts[one["run"]] = counts.get(one["run"], 0) + 1
    ordered = sorted(entries, key=lambda one: counts[one["run"]] < 2)
    return [one for one in ordered if sum(one[part] for part in _PARTS) > 0][:_MOST_RUNS]


def _named(one: Json) -> str:
    return labels.clean(f"{one['run']}: {one['stream']}")


def _total(one: Json) -> float:
    return float(sum(one[part] for part in _PARTS))


def _end(one: Json) -> Datum:
    return {"x": _named(one), "said": show.time(_total(one))}


def _stack(one: Json) -> Iterator[Datum]:
    at, total = 0.0, _total(one)
    for part, name in _PARTS.items():
        share = float(one[part]) / total
        if share > 0:
            said = f"{show.time(float(one[part]))} of {show.time(total)}"
            place = {"from": at, "to": at + share}
            yield {"x": _named(one), "panel": "", "series": name, "y": share, "said": said, **place}
        at += share


def series(found: Json, palette_: Palette) -> Figure | None:
    """Simulated bandwidth over time, where write caches fill and garbage collection begins."""
    entries = found.get("series") or []
    if not entries:
        return None
    names = list(dict.fromkeys(str(one["stream"]) for one in entries))
    keys = palette_.keys("class", names)
    runs = list(dict.fromkeys(str(one["run"]) for one in entries))
    drops = {row["claim"].rpartition(".")[2]: row for row in found["claims"]}
    drops = {run: drops[run] for run in runs if run in drops}
    panels, data = [], []
    for run in runs:
        own = [point for one in entries if one["run"] == run for point in _thinned(run, one)]
        data += own
        panels.append(_over_time(run, drops.get(run, {}), own, keys))
    notes = tuple(_told(row) for row in drops.values())
    caption = (
        "Bandwidth of each class on the twin, in virtual time. Upright line or stripe: when the study saw it fall."
    )
    title = f"{found['study']}: write cache and garbage collection"
    return Figure(
        f"series-{found['study']}",
        title,
        "timeseries",
        caption,
        tuple(panels),
        keys,
        "class",
        tuple(data),
        notes,
        wide=True,
    )


def _thinned(run: str, one: Json) -> Iterator[Datum]:
    points = list(zip(one["at_s"], one["bytes_per_s"], strict=True))
    step = max(1, len(points) // _MOST_POINTS)
    for at, rate in points[::step]:
        yield {"panel": run, "series": one["stream"], "x": round(at, 2), "y": rate, "provenance": "modelled"}


def _over_time(run: str, row: Json, data: list[Datum], keys: Sequence[Key]) -> Panel:
    x = alt.X("x:Q", axis=alt.Axis(title="seconds", tickCount=6), scale=alt.Scale(nice=False))
    expression = "format(datum.value / 1e9, '~g') + ' GB/s'"
    y = alt.Y("y:Q", axis=alt.Axis(title="bandwidth", labelExpr=expression, tickCount=5), scale=alt.Scale(zero=True))
    dash = alt.StrokeDash("series:N", scale=palette.scale(keys, "dash"), legend=None)
    line = (
        alt.Chart()
        .mark_line()
        .encode(x=x, y=y, color=marks.colour(keys), strokeDash=dash, tooltip=["series:N", "x:Q", "y:Q"])
    )
    lines = len({entry["series"] for entry in data})
    title = f"{run}: {row['setup']}" if row else run
    return marks.finish([*_fall(row, x), line], data, title=title, height=200, says=f"{run} over time", counts=lines)


def _fall(row: Json, x: alt.X) -> Iterator[Layer]:
    """When the study saw the fall: a line, or a stripe where it says from when to when."""
    published = row.get("published")
    if published is None or row.get("unit") not in _SECONDS:
        return
    ends = [published] * 2 if isinstance(published, (int, float)) else [published[0], published[-1]]
    low, high = (float(end) * _SECONDS[row["unit"]] for end in ends)
    at = alt.Chart(alt.InlineData(values=[{"x": low, "to": high}]))
    if low == high:
        yield at.mark_rule(stroke=theme.SOFT).encode(x=x)
    else:
        yield at.mark_rect(fill=theme.LINE, opacity=0.6).encode(x=x, x2="to:Q")


_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0}


def _told(row: Json) -> str:
    found = row["published"]
    ends = [] if found is None else [found] if isinstance(found, (int, float)) else [found[0], found[-1]]
    told = f"Published for {row['claim']}: {' to '.join(map(_figure, ends))} {row['unit']}." if ends else ""
    if row["modelled"] is None:
        return f"{told} {labels.sentence(row.get('reason', ''))}".strip()
    return f"{told} On the twin {_figure(row['modelled']['value'])} {row['unit']}.".strip()


def _figure(value: float) -> str:
    return f"{float(f'{value:.3g}'):,g}"
