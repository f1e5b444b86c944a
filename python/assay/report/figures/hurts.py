"""What a class reaches beside another, against what it reaches alone. Nothing is drawn here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.report.figures.choose import facet_title, factors, varying
from assay.results import group, labels
from assay.results.group import Point
from assay.results.row import Row

ALL = "all others"


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
    """Latency where a rate was asked for or a thread pauses; throughput where a class takes what it gets."""
    if all(one.closed for one in rows):
        return "bandwidth"
    return "response_p99_ns" if any(one.rated for one in rows) else "service_p99_ns"


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
        return ALL
    if not scenario.startswith("pair:"):
        return ""
    others = [name for name in scenario.removeprefix("pair:").split("+") if name != victim]
    return others[0] if len(others) == 1 else ""


def places(rows: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    """Rows that differ in nothing but their scenario, with what sets them apart from others."""
    names = varying(rows, factors(rows))
    keyed = group.by(rows, names) if names else {(): list(rows)}
    return [(facet_title(names, key), part) for key, part in keyed.items()]
