"""The page of a fleet: who was missing, which host is the odd one, a panel for each host, the total by cell."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import altair as alt

from assay.charts import axes, marks, shell, theme
from assay.charts.model import Datum, Figure, Panel
from assay.fleet import moments, odd, within, words
from assay.fleet.folder import FILE
from assay.results.files import read_json
from assay.units import show
from assay.untyped import Json
from assay.version import __version__

_METRIC, _UNIT, _HEIGHT, _TICKS = "ops_rate", "ops/s", 150, 6


def write(directory: Path) -> Path:
    """Writes `report.html` of a fleet; each host's own report is written by its own folder."""
    document = read_json(directory / FILE)
    hosts = [str(host["name"]) for host in document["hosts"]]
    figures = [figure for name in _classes(document["totals"]) for figure in _figures(name, hosts, document["totals"])]
    lost = document.get("lost", ())
    figures += within.figures([moments.of_cell(directory, total, lost) for total in document["totals"]])
    scripts = shell.scripts()
    context = {
        "document": document,
        "hosts": hosts,
        "first": words.first(hosts, lost, document["totals"]),
        "odd": list(odd.sentences(document["odd"])) if "odd" in document else [],
        "cells": [(total["name"], [line.strip() for line in words.cell(total)]) for total in document["totals"]],
        "figures": figures,
        "style": shell.style(),
        "scripts": scripts,
        "policy": shell.policy(scripts),
        "data": shell.data(figures),
        "version": __version__,
    }
    path = directory / "report.html"
    shell.replace_file(path, shell.environment().get_template("fleet.html.j2").render(context))
    return path


def _classes(totals: Sequence[Json]) -> list[str]:
    return list(
        dict.fromkeys(one["class"] for total in totals for host in total["hosts"] for one in host.get("classes", ()))
    )


def _figures(name: str, hosts: Sequence[str], totals: Sequence[Json]) -> list[Figure]:
    """A class: the total from cell to cell, and a panel for each host."""
    sums = [_sum(name, number, total, len(hosts)) for number, total in enumerate(totals, 1)]
    rates = {
        host: [entry for number, total in enumerate(totals, 1) if (entry := _rate(name, host, number, total))]
        for host in hosts
    }
    whole = tuple(entry for entry in sums if entry)
    caption = "The sum over the hosts that were there for all of a cell; a cross where hosts are missing from it."
    every = tuple(entry for host in hosts for entry in rates[host])
    title = f"{name}: all hosts together"
    alone = (_panel("", whole, whole),) if whole else ()
    together = Figure(f"total-{name}", title, "fleet", caption, alone, (), "", whole, (), True)
    caption = "A host's own rate in each cell, all on the same scale; a cross where it is in no total."
    panels = tuple(_panel(host, rates[host], every) for host in hosts if rates[host])
    apart = Figure(f"hosts-{name}", f"{name}: each host", "fleet", caption, panels, (), "", every, (), True)
    return [figure for figure in (together, apart) if figure.data]


def _sum(name: str, number: int, total: Json, hosts: int) -> Datum | None:
    found = next((one for one in total["classes"] if one["class"] == name), None)
    if found is None:
        return None
    missing = ", ".join(total["not_in_total"])
    said = f"{len(found['hosts'])} of {hosts} hosts" + (f", without {missing}" if missing else "")
    return _datum("", number, total, float(found["ops_per_s"]), said, missing=bool(missing))


def _rate(name: str, host: str, number: int, total: Json) -> Datum | None:
    seat: Json = next((one for one in total["hosts"] if one["host"] == host), {})
    found = next((one for one in seat.get("classes", ()) if one["class"] == name), None)
    if found is None:
        return None
    said = seat["reason"] or str(seat.get("verdict", ""))
    return _datum(host, number, total, float(found["ops_per_s"]), said, missing=not seat["in_total"])


def _datum(panel: str, number: int, total: Json, value: float, hosts: str, *, missing: bool) -> Datum:
    said = show.figure(value, _UNIT)
    return {
        "panel": panel,
        "x": number,
        "cell": total["cell"],
        "y": value,
        "said": said,
        "hosts": hosts,
        "bad": missing,
    }


def _panel(title: str, data: Sequence[Datum], everything: Sequence[Datum]) -> Panel:
    last = int(max(entry["x"] for entry in everything))
    whole = list(range(1, last + 1, max(1, last // _TICKS)))
    axis = alt.Axis(title="cell, in the order in which they ran", values=whole)
    x = alt.X("x:Q", axis=axis, scale=alt.Scale(domain=[0.5, last + 0.5], nice=False))
    y = axes.vertical(_METRIC, log=False, values=[float(entry["y"]) for entry in everything])
    tooltip = [
        alt.Tooltip(f"{name}:N", title=said) for name, said in (("cell", "cell"), ("said", "rate"), ("hosts", "hosts"))
    ]
    layers = [
        alt.Chart().mark_line(color=theme.colour(0), strokeWidth=1.4).encode(x=x, y=y),
        alt.Chart()
        .mark_point(size=36, filled=True, color=theme.colour(0), opacity=1)
        .transform_filter("!datum.bad")
        .encode(x=x, y=y, tooltip=tooltip),
        alt.Chart()
        .mark_text(text="\u2715", fill=theme.INK, fontSize=13)
        .transform_filter("datum.bad")
        .encode(x=x, y=y, tooltip=tooltip),
    ]
    return marks.finish(layers, list(data), title=title, height=_HEIGHT, says=title or "all hosts", counts=len(data))
