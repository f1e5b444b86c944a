"""How classes hurt each other when they run at the same time."""

from __future__ import annotations

from collections.abc import Sequence

from assay.record import Objective
from assay.report.answer.model import Answer, Number, Part, answer, derived, number
from assay.report.figures import hurts as harm
from assay.report.figures.hurts import Hurt
from assay.results import row
from assay.results.folder import Folder
from assay.results.row import Row
from assay.units import show

_QUESTION = "How do the classes hurt each other?"


def find(folder: Folder) -> Answer | None:
    """The answer; none where no class was measured alone and beside others."""
    for study in folder.studies:
        for _, rows in harm.places(row.rows(folder.of(study.name))):
            hurts = harm.find(rows)
            if hurts:
                return _said(hurts, rows)
    return None


def _said(hurts: Sequence[Hurt], rows: Sequence[Row]) -> Answer:
    everyone = sorted((hurt for hurt in hurts if hurt.beside == "all others"), key=lambda hurt: -hurt.times)
    parts: list[Part] = ["All at once: "] if everyone else []
    for index, hurt in enumerate(everyone):
        parts += [*([", "] if index else []), *_clause(hurt)]
    parts += ["."] if everyone else []
    pairs = [hurt for hurt in hurts if hurt.beside != "all others"]
    worst = max(pairs, key=lambda hurt: hurt.times, default=None)
    if worst is not None and worst.times >= 1.05:
        ratio = derived(show.times(worst.times), worst.together, worst.alone)
        parts += [f" The worst neighbour: {worst.victim} beside {worst.beside} does ", ratio, " worse than alone."]
    parts += _objectives(rows)
    points = [point for hurt in everyone or pairs for point in (hurt.together, hurt.alone)]
    return answer("together", _QUESTION, parts, points)


def _clause(hurt: Hurt) -> list[Part]:
    if hurt.together.metric == "bandwidth":
        share = derived(show.percent(1 / hurt.times), hurt.together, hurt.alone)
        return [f"{hurt.victim} keeps ", share, " of its bandwidth (", number(hurt.together), ")"]
    ratio = derived(show.times(hurt.times), hurt.together, hurt.alone)
    return [
        f"{hurt.victim} answers at p99 in ",
        number(hurt.together, bounds=False),
        f", {'' if hurt.times >= 1 else 'only '}",
        ratio,
        " the time alone",
    ]


def _objectives(rows: Sequence[Row]) -> list[Part]:
    judged = _middle([one for one in rows if one.cell.scenario == "all" and one.result.get("objective")])
    if not judged:
        return []
    missed = [one for one in judged if not (one.result["objective"] or {}).get("met")]
    if not missed:
        return (
            [f" {'All' if len(judged) > 1 else 'Its'} {len(judged)} objectives are met."]
            if len(judged) > 1
            else [" The objective is met."]
        )
    parts: list[Part] = [f" {len(judged) - len(missed)} of {len(judged)} objectives met; missed: "]
    for index, one in enumerate(missed):
        outcome = one.result["objective"] or {}
        wanted = outcome["objective"]
        bound, seen = objective(wanted, wanted["bound"]), objective(wanted, outcome["seen"])
        figure = Number(seen, "", "as the record says", one.anchor, one.status, one.provenance)
        parts += [
            *([", "] if index else []),
            f"{one.name} ({short(wanted)} ",
            figure,
            f", bound {bound})",
        ]
    return [*parts, "."]


def _middle(rows: Sequence[Row]) -> list[Row]:
    """Of repeats of one cell the run in the middle, by what its objective saw."""
    keyed: dict[tuple[str, str, str], list[Row]] = {}
    for one in rows:
        keyed.setdefault((one.cell.study, repr(one.cell.factors), one.name), []).append(one)
    return [sorted(part, key=_seen)[len(part) // 2] for part in keyed.values()]


def _seen(one: Row) -> float:
    return float((one.result["objective"] or {}).get("seen") or 0.0)


def short(wanted: Objective) -> str:
    """An objective's metric, as short as sentences have it: `p99`."""
    stem = _metric(wanted).removesuffix("_ns")
    return row.percentile_name(stem) if stem != _metric(wanted) else row.metric_title(_metric(wanted))


def _metric(wanted: Objective) -> str:
    return str(wanted.get("metric"))


def objective(wanted: Objective, value: float) -> str:
    """A value of an objective's metric in words."""
    return show.figure(float(value), row.unit(_metric(wanted)))
