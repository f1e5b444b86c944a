"""One self-contained page: no script, style, font or picture comes from anywhere else."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

from assay import __version__
from assay.report import answer, machine, shell
from assay.report.answer import layers, trust
from assay.report.figures import Figure, Palette
from assay.report.folder import Folder
from assay.report.view import gaps
from assay.report.view.section import Section, section


def write(folder: Folder, *, export: bool) -> Path:
    """Writes the page, and its figures as files where asked."""
    palette = Palette()
    sections = [section(folder, study, palette) for study in folder.studies]
    path = folder.directory / "report.html"
    shell.replace_file(path, render(folder, sections))
    if export:
        from assay.report import export as files

        files.write(folder.directory / "figures", [figure for one in sections for figure in one.figures])
    return path


def render(folder: Folder, sections: list[Section]) -> str:
    """The page as text."""
    what, where = machine.headline(folder)
    common = gaps.everywhere([one.gaps for one in sections])
    sections = [replace(one, gaps=tuple(gaps.without(one.gaps, common))) for one in sections]
    scripts = shell.scripts()
    context: dict[str, Any] = {
        "title": what,
        "where": where,
        "folder": folder,
        "answers": answer.of(folder),
        "counts": trust.counts(folder),
        "findings": trust.findings(folder),
        "sections": sections,
        "lead": _lead(folder, sections),
        "machine": machine.facts(folder),
        "common": common,
        "problems": [*folder.problems, *machine.changes(folder)],
        "command": shlex.join(folder.command),
        "style": shell.style(),
        "scripts": scripts,
        "policy": shell.policy(scripts),
        "data": shell.data(figure for one in sections for figure in one.figures),
        "version": __version__,
    }
    return shell.environment().get_template("report.html.j2").render(context)


def _lead(folder: Folder, sections: list[Section]) -> Figure | None:
    """The picture of the first screen: the ladder, or else the first figure."""
    declared = layers.declared(folder)
    figures = [figure for one in sections for figure in one.figures]
    ladders = [figure for figure in figures if figure.kind == "ladder" and declared is not None]
    return next(iter(ladders or figures), None)
