"""One study on the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from assay.charts.model import Figure
from assay.charts.palette import Palette
from assay.report.answer import together
from assay.report.figures.drawing import draw_all
from assay.report.view import cells, gaps
from assay.report.view.cells import StudyTable
from assay.report.view.gaps import Gap
from assay.results import conditions, labels, row
from assay.results.folder import Cell, Folder, Study
from assay.results.row import Row


@dataclass(frozen=True)
class Objective:
    """Whether a class met its objective."""

    name: str
    anchor: str
    place: str
    wanted: str
    seen: str
    met: bool
    status: str


@dataclass(frozen=True)
class Section:
    """All that the page shows of a study."""

    anchor: str
    study: Study
    figures: tuple[Figure, ...]
    conditions: str
    objectives: tuple[Objective, ...]
    table: StudyTable | None
    gaps: tuple[Gap, ...]
    method: tuple[tuple[str, str], ...]
    measured: int
    planned: int


def section(folder: Folder, study: Study, palette: Palette) -> Section:
    """Draws and describes a study."""
    own = folder.of(study.name)
    rows = row.rows(own)
    said = conditions.line(rows)
    return Section(
        anchor=f"study-{study.name}",
        study=study,
        figures=tuple(replace(figure, conditions=said) for figure in draw_all(study, own, palette)),
        conditions=said,
        objectives=tuple(_objectives(rows)),
        table=cells.table(own, rows),
        gaps=tuple(gaps.find(own)),
        method=tuple(conditions.method(rows) + _parameters(study)) if rows else tuple(_parameters(study)),
        measured=sum(1 for cell in own if cell.record is not None),
        planned=len(own),
    )


def _parameters(study: Study) -> list[tuple[str, str]]:
    said = ", ".join(
        f"{labels.dimension(name)} {labels.value(name, value)}" for name, value in study.parameters.items()
    )
    found = [("Parameters", said)] if said else []
    if study.scaled:
        found.append(("Changed", ", ".join(_changed(name, change) for name, change in study.scaled.items())))
    return found


def _changed(name: str, change: object) -> str:
    """A parameter that was scaled to fit the target."""
    if not isinstance(change, dict):
        return f"{labels.dimension(name)}: {change}"
    used, declared = (labels.value(name, change.get(key, "?")) for key in ("used", "declared"))
    return f"{labels.dimension(name)} {used} instead of {declared}"


def _objectives(rows: Sequence[Row]) -> list[Objective]:
    judged = [one for one in rows if isinstance(one.result.get("objective"), dict)]
    everyone = [one for one in judged if one.cell.scenario == "all"]
    return [_objective(one) for one in everyone or judged]


def _objective(one: Row) -> Objective:
    outcome = one.result["objective"] or {}
    wanted = outcome.get("objective") or {}
    metric = str(wanted.get("metric"))
    below = row.unit(metric) == "ns"
    bound = together.objective(wanted, float(wanted.get("bound") or 0))
    return Objective(
        name=one.name,
        anchor=one.anchor,
        place=_place(one.cell),
        wanted=f"{row.metric_title(metric)} {'at most' if below else 'at least'} {bound}",
        seen=together.objective(wanted, float(outcome.get("seen") or 0)),
        met=bool(outcome.get("met")),
        status=one.status,
    )


def _place(cell: Cell) -> str:
    said = [f"{labels.dimension(name)} {labels.value(name, value)}" for name, value in cell.factors.items()]
    return ", ".join([cell.scenario, *said])
