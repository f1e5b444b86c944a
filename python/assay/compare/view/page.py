"""A comparison, and a history, as one page each."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assay.charts import shell
from assay.charts.model import Figure
from assay.compare import bands, conditions, selftest, table, words
from assay.compare import history as histories
from assay.compare.comparison import Comparison, correction_said
from assay.compare.gate import Gate
from assay.compare.history import History
from assay.compare.line import Line
from assay.compare.selftest import SelfTest
from assay.compare.view import dots, forest, steps
from assay.results import row
from assay.units import show
from assay.version import __version__


def write(path: Path, found: Comparison, gated: Gate | None, tests: Sequence[SelfTest]) -> Path:
    """Writes the page of a comparison."""
    differing, counted = conditions.summed_up(found.environment)
    figures = [figure for figure in (forest.draw(found), dots.draw(found)) if figure is not None]
    context = {
        "found": found,
        "counts": [(name, found.count(name)) for name in ("different", "equivalent", "undecided")],
        "sentence": table.sentence(found, (found.a.label, found.b.label)),
        "trust": table.trust(found),
        "entries": table.entries(found),
        "lines": [_row(line, found, path.parent) for line in forest.ordered(found.lines)],
        "models": _models(found),
        "differing": differing,
        "counted": counted,
        "asked": list({one.said: one for line in found.lines for one in line.asked}.values()),
        "designs": list(dict.fromkeys(line.design.said for line in found.lines)),
        "correction": correction_said(found),
        "gate": gated.sentence if gated else "",
        "tests": [(one.line.name, selftest.sentences(one)) for one in tests],
        "margin": words.percent(found.rules.margin),
        "drift": words.percent(found.rules.drift) if found.rules.drift else "",
    }
    return _write(path, "compare.html.j2", context, figures)


def _models(found: Comparison) -> str:
    """Whether `all` comparisons, `some` or none (empty) have bands in the place of an interval."""
    count = sum(line.reason in bands.DECIDING for line in found.lines)
    return "all" if count == len(found.lines) else "some" if count else ""


def write_history(path: Path, found: History) -> Path:
    """Writes the page of a history."""
    said = [(one.name, histories.sentences(one)) for one in found.series]
    return _write(path, "history.html.j2", {"found": found, "said": said}, [steps.draw(found)])


def _write(path: Path, template: str, context: dict[str, Any], figures: Sequence[Figure]) -> Path:
    scripts = shell.scripts()
    common = {
        "figures": figures,
        "style": shell.style(),
        "scripts": scripts,
        "policy": shell.policy(scripts),
        "data": shell.data(figures),
        "version": __version__,
    }
    shell.replace_file(path, shell.environment().get_template(template).render(context | common))
    return path


def _row(line: Line, found: Comparison, base: Path) -> dict[str, Any]:
    """A comparison as a row of the table, with links to its records."""
    a, b = line.medians()
    unit = row.unit(line.metric)
    links = [
        {
            "number": pair.number,
            "first": pair.first,
            "ratio": words.log_percent(value) if (value := pair.log_ratio(line.metric)) is not None else "",
            "a": _link(found.a.directory, pair.a.cell.id, base),
            "b": _link(found.b.directory, pair.b.cell.id, base),
            "status": f"{pair.a.status}, {pair.b.status}",
        }
        for pair in line.pairs
    ]
    return {
        "line": line,
        "a": show.figure(a, unit) if a is not None else "",
        "b": show.figure(b, unit) if b is not None else "",
        "change": words.change(line.ratio) if line.ratio is not None else "",
        "span": words.span(line),
        "p": words.p_said(line.judgement.p_different) if line.judgement else "",
        "sentence": words.sentence(line, found),
        "links": links,
    }


def _link(directory: Path, cell: str, base: Path) -> dict[str, str]:
    """To the record, or to the one file that holds all of them."""
    record = directory / "records" / f"{cell}.json"
    return {"cell": cell, "href": os.path.relpath(directory if directory.is_file() else record, base)}
