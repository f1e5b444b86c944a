"""How much classes hurt each other: what a class reaches beside another, against what it reaches alone."""

from __future__ import annotations

from collections.abc import Sequence

from assay.charts import datum
from assay.charts.model import Ask, Datum, Figure, Panel
from assay.report.figures import heat
from assay.report.figures.hurts import ALL, Hurt, find, places
from assay.results.folder import Cell
from assay.results.row import Row
from assay.units import show

_NOTE = (
    "Rows: the class that is hurt. 1x is what the class reaches alone; 3x means a third of the bandwidth (closed "
    "classes) or three times the p99 response time (classes with a rate)."
)


def draw(ask: Ask, cells: Sequence[Cell], rows: Sequence[Row]) -> Figure | None:
    """The matrix, one for each place; none where no class was measured both alone and beside another."""
    drawn = [(title, [_datum(hurt, title) for hurt in find(part)]) for title, part in places(rows)]
    drawn = [(title, data) for title, data in drawn if data]
    if not drawn:
        return None
    everything = [entry for _, data in drawn for entry in data]
    heat.shade(everything)
    for entry in everything:
        entry["strong"] = entry["strong"] if entry["y"] > 1.05 else 0.0
    missing = [cell.scenario for cell in cells if cell.record is None and cell.scenario.startswith("pair:")]
    panels = tuple(_panel(title, data, missing, ask.title) for title, data in drawn)
    notes = (_NOTE, "A dash: not measured.") if missing else (_NOTE,)
    return Figure(
        ask.id, ask.title, "interference", ask.caption, panels, (), "", tuple(everything), notes, wide=len(panels) > 1
    )


def _panel(title: str, data: list[Datum], missing: Sequence[str], says: str) -> Panel:
    victims = list(dict.fromkeys(str(entry["series"]) for entry in data))
    seen = {(entry["series"], entry["x"]) for entry in data}
    others = list(dict.fromkeys(str(entry["x"]) for entry in data if entry["x"] not in {*victims, ALL}))
    besides = [name for name in [*victims, *others, ALL] if any(x == name for _, x in seen)]
    pairs = [scenario.removeprefix("pair:").split("+") for scenario in missing]
    holes = [(one, other) for pair in pairs if len(pair) == 2 for one, other in (pair, reversed(pair))]
    gaps = [{"series": one, "x": other} for one, other in holes if one in victims and other in besides]
    gaps = [gap for gap in gaps if (gap["series"], gap["x"]) not in seen]
    return heat.panel(data, title=title, columns=besides, lines=victims, says=says, x_title="beside", gaps=gaps)


def _datum(hurt: Hurt, panel: str) -> Datum:
    entry = datum.of(hurt.together, x_name="scenario", x=hurt.beside, series=hurt.victim, panel=panel)
    alone, together = (show.figure(point.value, entry["unit"]) for point in (hurt.alone, hurt.together))
    return {
        **entry,
        "where": f"beside {hurt.beside}",
        "y": datum.number(hurt.times),
        "metric": f"{hurt.together.metric}_times_worse",
        "unit": "ratio",
        "low": None,
        "high": None,
        "interval": "",
        "verdict": hurt.status,
        "said": show.times(hurt.times),
        "bounds": f"alone {alone}, beside {together}",
        "hollow": hurt.status == "suspect" or hurt.alone.weak or hurt.together.weak,
        "bad": hurt.status == "invalid",
    }
