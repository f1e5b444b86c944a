"""Figures of work records: rates side by side, and what each query or operation takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt

from assay.dbms import figures as databases
from assay.report import labels, units
from assay.report.figures import Figure, Palette, marks
from assay.report.figures.model import Datum, Key
from assay.report.work import Work

_TIMES = ("wall_s", "time_s", "elapsed_s", "median_s", "duration_s")
_FEWEST_PARTS = 3


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


def _label(one: Work) -> str:
    where = "on memory" if one.medium == "memory" else f"on {one.on}"
    threads = one.parameters.get("threads")
    return labels.clean(f"{one.subject}, {one.workload}{f', {threads} threads' if threads else ''}, {where}")


def _rates(kind: str, works: Sequence[Work], palette: Palette) -> Figure:
    data: list[Datum] = []
    for one in sorted(works, key=lambda each: (each.workload, -(each.rate or ("", 0.0))[1])):
        name, value = one.rate or ("", 0.0)
        said = f"{units.count(value)} {name.removesuffix('_per_s').replace('_', ' ')}/s"
        data.append(
            {
                "x": f"{_label(one)} [{one.id[-8:]}]", "series": one.subject, "panel": "", "y": value, "said": said,
                "unit": "1/s", "verdict": one.status, "provenance": one.provenance, "cell": one.anchor,
            }
        )  # fmt: skip
    keys = palette.keys("subject", list(dict.fromkeys(str(entry["series"]) for entry in data)))
    y, heads, height = marks.headed([str(entry["x"]) for entry in data], 13.0, 6.0)
    x = alt.X("y:Q", axis=alt.Axis(title="a second", format="~s", tickCount=5), scale=alt.Scale(zero=True))
    tooltip = [alt.Tooltip(f"{name}:N") for name in ("x", "said", "verdict", "provenance")]
    bars = alt.Chart().mark_rect().encode(x=x, x2=alt.datum(0), y=y, color=marks.colour(keys), tooltip=tooltip)
    words = alt.Chart().mark_text(align="right", dy=-12, fontSize=11).encode(x=alt.value("width"), y=y, text="said:N")
    panel = marks.finish([bars, heads, words], data, title="", height=height, says=f"{kind} rates", counts=len(data))
    caption = "One bar for each record; click it to reach the record. Records of different workloads do not compare."
    return Figure(
        f"work-{kind}-rates", "What was done a second", "bar", caption, (panel,), keys, "", tuple(data), wide=True
    )


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
    data: list[Datum] = [
        {
            "x": name, "series": _label(one), "panel": "", "y": value, "said": units.time(value * 1e9), "unit": "s",
            "verdict": one.status, "provenance": one.provenance, "cell": one.anchor, "hollow": one.status == "suspect",
            "bad": False, "low": None, "high": None,
        }
        for one in works
        for name, value in _times(one)
    ]  # fmt: skip
    keys: tuple[Key, ...] = palette.keys("subject and place", list(dict.fromkeys(str(one["series"]) for one in data)))
    names = list(dict.fromkeys(str(entry["x"]) for entry in data))
    x = alt.X("x:N", sort=names, axis=alt.Axis(title="", labelAngle=-60 if len(names) > 8 else 0))
    values = [float(entry["y"]) for entry in data]
    wide = max(values) > 30 * min(values)
    axis = alt.Axis(title="seconds", format="~s", tickCount=5)
    y = alt.Y("y:Q", axis=axis, scale=alt.Scale(type="log") if wide else alt.Scale(zero=True))
    tooltip: list[Any] = [alt.Tooltip(f"{name}:N") for name in ("x", "series", "said", "verdict")]
    dots = marks.points(keys, x, y).encode(tooltip=tooltip)
    panel = marks.finish([dots], data, title="", height=260, says=f"{kind} times", counts=len(data))
    caption = "Time of each part, one mark for each record; hollow where the record is suspect."
    return Figure(
        f"work-{kind}-parts", "What each part takes", "line", caption, (panel,), keys, "", tuple(data), wide=True
    )
