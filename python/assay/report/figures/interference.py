"""How much classes hurt each other: what a class reaches beside another, against what it reaches alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.report import group, labels, units
from assay.report.figures import datum, heat
from assay.report.figures.model import Ask, Datum, Figure
from assay.report.folder import Cell
from assay.report.group import Point
from assay.report.row import Row


@dataclass(frozen=True)
class Hurt:
    """A class beside others, against itself alone. `times` above 1 is harm, for latencies and throughputs alike."""

    victim: str
    beside: str
    times: float
    alone: Point
    together: Point

    @property
    def status(self) -> str:
        """Gravest verdict of the two."""
        return labels.worst([self.alone.status, self.together.status])


def metric_for(rows: Sequence[Row]) -> str:
    """Latency where a rate was asked for; throughput where a class takes what it gets."""
    return "bandwidth" if all(one.closed for one in rows) else "response_p99_ns"


def find(rows: Sequence[Row]) -> list[Hurt]:
    """Every pair that was measured, and all together, for each class that was also measured alone."""
    found = []
    for victim in dict.fromkeys(one.name for one in rows):
        own = [one for one in rows if one.name == victim]
        metric = metric_for(own)
        alone = group.point([one for one in own if one.cell.scenario == f"alone:{victim}"], metric)
        if alone is None or alone.value <= 0:
            continue
        for scenario, part in group.by(own, ["scenario"]).items():
            together = group.point(part, metric)
            beside = _beside(str(scenario[0]), victim)
            if beside and together is not None and together.value > 0:
                ratio = together.value / alone.value
                found.append(Hurt(victim, beside, 1 / ratio if metric == "bandwidth" else ratio, alone, together))
    return found


def _beside(scenario: str, victim: str) -> str:
    if scenario == "all":
        return "all others"
    if not scenario.startswith("pair:"):
        return ""
    others = [name for name in scenario.removeprefix("pair:").split("+") if name != victim]
    return others[0] if len(others) == 1 else ""


def draw(ask: Ask, cells: Sequence[Cell], rows: Sequence[Row]) -> Figure | None:
    """The matrix; none where no class was measured both alone and beside another."""
    found = find(rows)
    if not found:
        return None
    data = [_datum(hurt) for hurt in found]
    heat.shade(data)
    for entry in data:
        entry["strong"] = entry["strong"] if entry["y"] > 1.05 else 0.0
    victims = list(dict.fromkeys(hurt.victim for hurt in found))
    besides = [name for name in [*victims, "all others"] if any(hurt.beside == name for hurt in found)]
    panel = heat.panel(
        data, title="", columns=besides, lines=victims, says=ask.title, x_title="beside", y_title="class"
    )
    notes = (
        (
            "1x is what the class reaches alone; 3x means a third of the bandwidth (closed classes) or three times the "
            "p99 response time (classes with a rate)."
        ),
        *_missing(cells),
    )
    return Figure(ask.id, ask.title, "interference", ask.caption, (panel,), (), "", tuple(data), notes)


def _missing(cells: Sequence[Cell]) -> tuple[str, ...]:
    names = [cell.scenario for cell in cells if cell.record is None and ":" in cell.scenario]
    return (f"Not measured: {', '.join(dict.fromkeys(names))}.",) if names else ()


def _datum(hurt: Hurt) -> Datum:
    entry = datum.of(hurt.together, x_name="scenario", x=hurt.beside, series=hurt.victim, panel="")
    alone, together = (units.figure(point.value, entry["unit"]) for point in (hurt.alone, hurt.together))
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
        "said": units.times(hurt.times),
        "bounds": f"alone {alone}, beside {together}",
        "hollow": hurt.status == "suspect" or hurt.alone.weak or hurt.together.weak,
        "bad": hurt.status == "invalid",
    }
