"""One self-contained page: no script, style, font or picture comes from anywhere else."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.charts import shell
from assay.charts.model import Figure
from assay.charts.palette import Palette
from assay.report import answer, headroom
from assay.report.answer import headline, known, layers, rungs, trust
from assay.report.view import cells, claims, explorer, gaps, works
from assay.report.view.counsel import Counsel, counsel
from assay.report.view.section import Section, section
from assay.results import interval, machine, row
from assay.results.folder import Folder
from assay.version import __version__


def write(folder: Folder, *, export: bool, pdf: bool = False) -> Path:
    """Writes the page; where asked, its figures as files and a summary of one page as PDF."""
    palette = Palette()
    parts = gather(folder, palette)
    path = folder.directory / "report.html"
    shell.replace_file(path, render(folder, parts))
    if export:
        from assay.charts import export as files

        files.write(folder.directory / "figures", list(parts.figures))
    if pdf:
        from assay.report import summary

        summary.write(folder, _lead(folder, parts.sections), parts.counsel)
    return path


@dataclass(frozen=True)
class Parts:
    """All that the page is made of, beside the answers."""

    sections: list[Section]
    works: list[works.WorkSection]
    claims: list[claims.ClaimedStudy]
    counsel: Counsel
    headroom: list[headroom.Headroom]
    problems: list[str]

    @property
    def figures(self) -> Iterator[Figure]:
        """Every figure of the page."""
        for study in self.sections:
            yield from study.figures
        for work in self.works:
            yield from work.figures
        for claimed in self.claims:
            yield from claimed.figures


def gather(folder: Folder, palette: Palette) -> Parts:
    """Reads and draws everything."""
    document, problem = claims.read(folder.directory)
    sections = [section(folder, study, palette) for study in folder.studies]
    work = works.sections(folder.works, palette)
    return Parts(
        sections=sections,
        works=work,
        claims=claims.parts(document, palette, set(_anchors(sections, work))) if document else [],
        counsel=counsel(folder),
        headroom=headroom.find(folder),
        problems=[problem] if problem else [],
    )


def _anchors(sections: list[Section], work: list[works.WorkSection]) -> Iterator[str]:
    """Every record that the page shows."""
    for one in sections:
        yield from (entry.anchor for entry in one.table.entries) if one.table else ()
    for each in work:
        yield from (entry.anchor for entry in each.entries)


def render(folder: Folder, parts: Parts) -> str:
    """The page as text."""
    sections = parts.sections
    what, where = machine.headline(folder)
    common = gaps.everywhere([one.gaps for one in sections])
    sections = [replace(one, gaps=tuple(gaps.without(one.gaps, common))) for one in sections]
    scripts = shell.scripts()
    answers, ladder = answer.of(folder), rungs.find(folder)
    context: dict[str, Any] = {
        "title": what,
        "where": where,
        "folder": folder,
        "answers": answers,
        "sentence": headline.find(answers),
        "known": known.scales(row.rows(folder.cells)),
        "ladder": ladder,
        "counts": trust.counts(folder),
        "findings": trust.findings(folder),
        "sections": sections,
        "figure_cells": cells.markup,
        "bootstrap_runs": interval.RUNS_FOR_BOOTSTRAP,
        "student_runs": interval.RUNS_FOR_STUDENT,
        "lead": None if ladder else _lead(folder, sections),
        "works": parts.works,
        "claims": parts.claims,
        "counsel": parts.counsel,
        "headroom": parts.headroom,
        "explorer": explorer.explorer(folder),
        "machine": machine.facts(folder),
        "common": common,
        "problems": [*folder.problems, *parts.problems, *machine.changes(folder)],
        "command": shlex.join(folder.command),
        "style": shell.style(),
        "scripts": scripts,
        "policy": shell.policy(scripts),
        "data": shell.data(parts.figures),
        "version": __version__,
    }
    return shell.environment().get_template("report.html.j2").render(context)


def _lead(folder: Folder, sections: list[Section]) -> Figure | None:
    """The picture of the first screen: the ladder, or else the first figure."""
    declared = layers.declared(folder)
    figures = [figure for one in sections for figure in one.figures]
    ladders = [figure for figure in figures if figure.kind == "ladder" and declared is not None]
    return next(iter(ladders or figures), None)
