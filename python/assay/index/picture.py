"""A sweep on twins as figures: one for each workload, with throughput and throughput per dollar of each index."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.charts import axes, datum, export, marks
from assay.charts.model import Figure, Key, Panel
from assay.charts.palette import Palette
from assay.index.played import PlayedIndex
from assay.units import show
from assay.untyped import Json

_HEIGHT = 220


def write(folder: Path, study: str, runs: Sequence[PlayedIndex]) -> list[Path]:
    """Draws all workloads into a folder; what was written."""
    return export.write(folder, [draw(study, workload, _of(runs, workload)) for workload in _workloads(runs)])


def _workloads(runs: Sequence[PlayedIndex]) -> list[str]:
    return list(dict.fromkeys(run.workload for run in runs))


def _of(runs: Sequence[PlayedIndex], workload: str) -> list[PlayedIndex]:
    return [run for run in runs if run.workload == workload]


def draw(study: str, workload: str, runs: Sequence[PlayedIndex]) -> Figure:
    """One workload: for each index its rate over threads, and the same by the dollar, with a line for each place."""
    keys = Palette().keys("place", list(dict.fromkeys(run.on.removeprefix("twin:") for run in runs)))
    panels, everything = [], []
    for index in dict.fromkeys(run.index for run in runs):
        own = [run for run in runs if run.index == index]
        for title, unit in ((index, ""), (f"{index}, per dollar", " per USD")):
            data = [_point(title, run, run.usd if unit else 1.0) for run in own if not unit or run.usd]
            if data:
                panels.append(_panel(title, f"operations a second{unit}", data, keys))
                everything += data
    caption = "Modelled: the structures' own code in virtual time on twins. Rules are bands of throughput."
    title = f"{study}: {workload}, by threads and modules"
    return Figure(f"{study}-{workload}", title, "line", caption, tuple(panels), keys, "", tuple(everything), wide=True)


def _point(panel: str, run: PlayedIndex, usd: float | None) -> Json:
    value, low, high = (one / (usd or 1.0) for one in (run.rate, run.low, run.high))
    return {
        "panel": panel,
        "series": run.on.removeprefix("twin:"),
        "x": run.threads,
        "where": f"{run.threads} threads",
        "metric": "ops_per_s",
        "y": datum.number(value),
        "unit": "ops/s",
        "low": datum.number(low),
        "high": datum.number(high),
        "bound_by": run.bound_by,
        "verdict": run.status,
        "provenance": "modelled",
        "cell": "",
        "said": show.figure(value, "ops/s"),
        "bounds": show.span(low, high, "ops/s"),
        "hollow": run.status == "suspect",
        "bad": run.status == "invalid",
    }


def _panel(title: str, heading: str, data: Sequence[Json], keys: Sequence[Key]) -> Panel:
    x = axes.factor("threads", sorted({one["x"] for one in data}), "log")
    y = axes.vertical("ops_per_s", log=False, values=datum.span(data), heading=heading)
    rules = [marks.bounds(keys, x, lambda name: marks.at(y, name))] if marks.bounded(data) else []
    layers = [*rules, marks.lines(keys, x, y), marks.points(keys, x, y, size=26)]
    return marks.finish(layers, list(data), title=title, height=_HEIGHT, says=title, counts=len(data))
