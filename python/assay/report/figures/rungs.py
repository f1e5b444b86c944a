"""The rungs of a ladder: what each step reached, with all classes together. Nothing is drawn here."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from assay.charts.model import Ask
from assay.record import Record
from assay.report.figures.choose import facet_title, factors, varying
from assay.results import group, labels, pick, row
from assay.results.folder import Cell
from assay.results.group import Point
from assay.results.row import Row


@dataclass(frozen=True)
class LadderStep:
    """One rung, measured or not."""

    label: str
    classes: dict[str, Point]
    cycles_per_byte: float | None
    status: str
    anchor: str
    reason: str

    @property
    def total(self) -> float:
        """Bytes per second of all classes together."""
        return sum(point.value for point in self.classes.values())

    @property
    def bounds(self) -> tuple[float, float]:
        """Lowest and highest total that the intervals of the classes allow (`pick.bounds`)."""
        found = [pick.bounds(point) for point in self.classes.values()]
        return sum(low for low, _ in found), sum(high for _, high in found)


def dimension(ask: Ask, cells: Sequence[Cell]) -> str:
    """The factor whose values are the rungs."""
    names = list(dict.fromkeys(name for cell in cells for name in cell.factors))
    if ask.x in names:
        return ask.x
    return next((name for name in ("step", "rung", "ladder") if name in names), names[0] if names else "scenario")


def steps(cells: Sequence[Cell], rows: Sequence[Row], name: str) -> list[LadderStep]:
    """All rungs in the order of the plan."""
    values = group.ordered(_of(cell, name) for cell in cells)
    return [_step(value, name, cells, [one for one in rows if _of(one.cell, name) == value]) for value in values]


def _of(cell: Cell, name: str) -> Hashable:
    return row.hashable(cell.scenario if name == "scenario" else cell.factors.get(name))


def _step(value: Hashable, name: str, cells: Sequence[Cell], rows: list[Row]) -> LadderStep:
    label = labels.value(name, value)
    found = {key[0]: group.point(part, "bandwidth") for key, part in group.by(rows, ["class"]).items()}
    classes = {str(key): point for key, point in found.items() if point is not None}
    if not classes:
        missing = next((cell for cell in cells if _of(cell, name) == value), None)
        return LadderStep(label, {}, None, "not measured", "", missing.reason if missing else "")
    first = next(iter(classes.values()))
    usable = {id(one.record): one.record for point in classes.values() for one in point.rows}
    cycles = [_cycles(record) for record in usable.values()]
    seen = sorted(one for one in cycles if one is not None)
    status = labels.worst([point.status for point in classes.values()])
    return LadderStep(label, classes, seen[len(seen) // 2] if seen else None, status, first.anchor, "")


def _cycles(record: Record) -> float | None:
    cpu = record.get("process_cpu")
    found = cpu.get("cycles_per_byte") if isinstance(cpu, dict) else None
    value = found.get("value") if isinstance(found, dict) else None
    return float(value) if isinstance(value, (int, float)) else None


def places(ask: Ask, cells: Sequence[Cell], rows: Sequence[Row]) -> list[tuple[str, list[LadderStep]]]:
    """One ladder for each combination of the other factors, with what sets it apart."""
    name = dimension(ask, cells)
    others = [other for other in varying(rows, [*factors(rows), "on"]) if other != name]
    others = others if len(others) < 2 or others[-1] != "on" else others[:-1]
    keyed = group.by(rows, others) if others else {(): list(rows)}
    found = []
    for key, part in keyed.items():
        fixed = dict(zip(others, key, strict=True))
        own = [
            cell
            for cell in cells
            if all(row.hashable(cell.factors.get(one)) == at for one, at in fixed.items() if one != "on")
        ]
        found.append((facet_title(others, key), steps(own, part, name)))
    return found
