"""Figures of work records: rates side by side, and what each query or operation takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt

from assay.charts import axes, marks
from assay.charts.model import Datum, Figure, Key, Panel
from assay.charts.palette import Palette
from assay.report.figures import databases
from assay.results import labels
from assay.results.work import Work
from assay.units import show

_TIMES = ("wall_s", "time_s", "elapsed_s", "median_s", "duration_s")
_FEWEST_PARTS = 3
# What sets panels of one workload apart.
_SIZES = ("scale", "warehouses", "keys", "records", "protocol", "page_cache", "distribution")


def draw(kind: str, works: Sequence[Work], palette: Palette) -> Iterator[Figure]:
    """Rates, where records have one; of databases what their workloads tell, otherwise times of parts."""
    # Of queries each tells more than how many there were a second.
    rates = [one for one in works if one.rate is not None and one.status != "invalid" and one.workload != "tpch"]
    if rates:
        yield _rates(kind, rates, palette)
    if kind == "database":
        yield from databases.draw(works, palette)
        return
    timed = [one for one in works if one.status != "invalid" and len(list(_times(one))) >= _FEWEST_PARTS]
    if timed:
        yield _parts(kind, timed, palette)


def _label(one: Work, beside: Sequence[Work]) -> str:
    """Subject and place, with what else sets records of the same figure apart."""
    found = [one.subject, "on memory" if one.medium == "memory" else f"on {one.on}"]
    if len({each.way for each in beside if each.subject == one.subject}) > 1:
        found.append(one.way)
    threads = one.parameters.get("threads")
    if threads is not None and len({each.parameters.get("threads") for each in beside}) > 1:
        found.append(f"{threads} thread{'s' if threads != 1 else ''}")
    if len({each.durability for each in beside if each.subject == one.subject}) > 1:
        found.append(f"{one.durability or 'no'} durability")
    found += _apart(one, beside)
    return labels.clean(", ".join(found))


def _apart(one: Work, beside: Sequence[Work]) -> Iterator[str]:
    """What memory a subject had, where the others of the figure had another."""
    alike = [each for each in beside if each.subject == one.subject]
    if len({each.settings.get("pool_bytes") for each in alike}) > 1 and "pool_bytes" in one.settings:
        yield f"pool {show.block(float(one.settings['pool_bytes']))}"
    tiers = {(each.settings.get("placement"), each.settings.get("tier_bytes")) for each in alike}
    if len({size for _, size in tiers if size is not None}) > 1 and "tier_bytes" in one.settings:
        yield f"tier {show.block(float(one.settings['tier_bytes']))}"
    if len({placement for placement, _ in tiers}) > 1:
        yield str(one.settings.get("placement") or "no tier")


def _by_workload(works: Sequence[Work]) -> dict[str, list[Work]]:
    """Records that did the same: what one panel shows. Sizes stand in its title."""
    found: dict[str, list[Work]] = {}
    for one in works:
        sizes = [text for text in one.problem if text.split(" ")[0] in _SIZES]
        found.setdefault(labels.clean(", ".join([one.workload, *sizes]).replace("_", " ")), []).append(one)
    return found


def _rates(kind: str, works: Sequence[Work], palette: Palette) -> Figure:
    names = list(dict.fromkeys(one.subject for one in sorted(works, key=lambda one: -(one.rate or ("", 0.0))[1])))
    keys = palette.keys("subject", names)
    panels, data = [], []
    for title, own in _by_workload(works).items():
        drawn = [_rate(one, own, title) for one in sorted(own, key=lambda one: -(one.rate or ("", 0.0))[1])]
        panels.append(_rate_panel(kind, drawn, keys, title))
        data += drawn
    caption = "One bar for each record, with its own scale for each workload; click it to reach the record."
    return Figure(
        f"work-{kind}-rates", "What was done a second", "bar", caption, tuple(panels), keys, "", tuple(data), wide=True
    )


def _rate(one: Work, beside: Sequence[Work], panel: str) -> Datum:
    name, value = one.rate or ("", 0.0)
    what = name.removesuffix("_per_s").replace("_", " ").replace("ops", "operations")
    same = [each for each in beside if _label(each, beside) == _label(one, beside)]
    mark = "" if one.status == "valid" else f"  {labels.STATUS_MARK[one.status]} {one.status}"
    return {
        "x": _label(one, beside) + (f" [{one.id[-8:]}]" if len(same) > 1 else ""), "series": one.subject,
        "panel": panel, "y": value, "said": f"{show.count(value)}/s{mark}", "what": what, "unit": "1/s",
        "verdict": one.status, "provenance": one.provenance, "cell": one.anchor,
    }  # fmt: skip


def _rate_panel(kind: str, data: list[Datum], keys: Sequence[Key], title: str) -> Panel:
    y, heads, height = marks.headed([str(entry["x"]) for entry in data], 13.0, 6.0)
    values = [float(entry["y"]) for entry in data]
    axis = axes.ticked(
        values,
        log=False,
        count=3,
        labelExpr=axes.label_expression("ops/s"),
        title=f"{data[0]['what']} a second",
        **axes.BELOW,
    )
    x = alt.X("y:Q", axis=axis, scale=alt.Scale(zero=True))
    tooltip = [alt.Tooltip(f"{name}:N") for name in ("x", "said", "verdict", "provenance")]
    bars = alt.Chart().mark_rect().encode(x=x, x2=alt.datum(0), y=y, color=marks.colour(keys), tooltip=tooltip)
    words = alt.Chart().mark_text(align="left", dx=6, fontSize=11).encode(x="y:Q", y=y, text="said:N")
    panel = marks.finish([bars, heads, words], data, title=title, height=height, says=f"{kind} rates", counts=len(data))
    return marks.pad_right(panel, max(len(str(entry["said"])) for entry in data) * marks.LABEL_ROOM + 8)


def _times(one: Work) -> Iterator[tuple[str, float]]:
    for part in one.record["parts"]:
        name = str(part.get("name") or "?")
        value = next((found for key in _TIMES if (found := one.figure(key, name)) is not None), None)
        service = part.get("service")
        if value is None and isinstance(service, dict) and service.get("mean_ns"):
            value = float(service["mean_ns"]) / 1e9
        if value is not None and value > 0:
            yield name, value


def _parts(kind: str, works: Sequence[Work], palette: Palette) -> Figure:
    groups = _by_workload(works)
    names = [_label(one, own) for own in groups.values() for one in own]
    keys: tuple[Key, ...] = palette.keys("subject and place", list(dict.fromkeys(names)))
    panels, data = [], []
    for title, own in groups.items():
        drawn = [_time(one, own, title, name, value) for one in own for name, value in _times(one)]
        panels.append(_time_panel(kind, drawn, keys, title))
        data += drawn
    caption = "Time of each part, one mark for each record; hollow where the record is suspect."
    return Figure(
        f"work-{kind}-parts",
        "What each part takes",
        "line",
        caption,
        tuple(panels),
        keys,
        "",
        tuple(data),
        wide=True,
        dots=True,
    )


def _time(one: Work, beside: Sequence[Work], panel: str, name: str, seconds: float) -> Datum:
    return {
        "x": name, "series": _label(one, beside), "panel": panel, "y": seconds * 1e9, "said": show.time(seconds * 1e9),
        "unit": "ns", "verdict": one.status, "provenance": one.provenance, "cell": one.anchor,
        "hollow": one.status == "suspect", "bad": False, "low": None, "high": None,
    }  # fmt: skip


def _time_panel(kind: str, data: list[Datum], keys: Sequence[Key], title: str) -> Panel:
    names = list(dict.fromkeys(str(entry["x"]) for entry in data))
    x = alt.X("x:N", sort=names, axis=alt.Axis(title="", labelAngle=-60 if len(names) > 8 else 0))
    values = [float(entry["y"]) for entry in data]
    log = axes.wants_log(values, "")
    axis = axes.ticked(values, log=log, labelExpr=axes.label_expression("ns"), title="mean time of one")
    y = alt.Y("y:Q", axis=axis, scale=axes.scale(values, log=log))
    tooltip: list[Any] = [alt.Tooltip(f"{name}:N") for name in ("x", "series", "said", "verdict")]
    dots = marks.points(keys, x, y).encode(tooltip=tooltip)
    return marks.finish([dots], data, title=title, height=260, says=f"{kind} times", counts=len(data))
