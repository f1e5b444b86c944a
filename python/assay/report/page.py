"""One self-contained page: no script, style, font or picture comes from anywhere else."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shlex
from dataclasses import replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
import vl_convert

from assay import __version__
from assay.report import answer, labels, machine, reasons, swatch, theme, units
from assay.report.answer import layers, trust
from assay.report.figures import Figure, Palette
from assay.report.folder import Folder, ReportError
from assay.report.view import gaps
from assay.report.view.section import Section, section

_ASSETS = resources.files("assay.report") / "assets"


def write(folder: Folder, *, export: bool) -> Path:
    """Writes the page, and its figures as files where asked."""
    palette = Palette()
    sections = [section(folder, study, palette) for study in folder.studies]
    path = folder.directory / "report.html"
    _replace(path, render(folder, sections))
    if export:
        from assay.report import export as files

        files.write(folder.directory / "figures", [figure for one in sections for figure in one.figures])
    return path


def _replace(path: Path, text: str) -> None:
    """Writes beside and renames, so that an earlier report survives a full disk."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise ReportError(
            f"{path} cannot be written ({error.strerror}); free space or choose another folder"
        ) from error


def render(folder: Folder, sections: list[Section]) -> str:
    """The page as text."""
    what, where = machine.headline(folder)
    common = gaps.everywhere([one.gaps for one in sections])
    sections = [replace(one, gaps=tuple(gaps.without(one.gaps, common))) for one in sections]
    scripts = [
        _script(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")),
        _script((_ASSETS / "report.js").read_text(encoding="utf-8")),
    ]
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
        "style": _style(),
        "scripts": scripts,
        "policy": _policy(scripts),
        "data": _data(sections),
        "version": __version__,
    }
    return _environment().get_template("report.html.j2").render(context)


def _lead(folder: Folder, sections: list[Section]) -> Figure | None:
    """The picture of the first screen: the ladder, or else the first figure."""
    declared = layers.declared(folder)
    figures = [figure for one in sections for figure in one.figures]
    ladders = [figure for figure in figures if figure.kind == "ladder" and declared is not None]
    return next(iter(ladders or figures), None)


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: (_ASSETS / name).read_text(encoding="utf-8")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["sentence"] = labels.sentence
    environment.globals.update(units=units, labels=labels, reasons=reasons, swatch=swatch.draw)
    return environment


def _style() -> str:
    """The style sheet, after the palette in both modes; a printed page is always light."""
    light, dark = (_variables(theme.variables(dark=mode)) for mode in (False, True))
    palette = f":root{{{light}}}@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"
    return palette + (_ASSETS / "report.css").read_text(encoding="utf-8")


def _variables(values: dict[str, str]) -> str:
    return "".join(f"--{name}:{value};" for name, value in values.items())


@cache
def _library() -> str:
    """Vega, Vega-Lite and the embedding, as one script."""
    text: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return text


def _script(text: str) -> str:
    """A script that can stand inside a page: nothing in it ends the element or begins a comment."""
    return text.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _policy(scripts: list[str]) -> str:
    """Only these scripts may run, and nothing may be loaded from anywhere."""
    hashes = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts)
    allowed = " ".join(f"'sha256-{one}'" for one in hashes)
    rules = ("default-src 'none'", f"script-src {allowed}", "style-src 'unsafe-inline'", "img-src data: blob:")
    return "; ".join((*rules, "base-uri 'none'", "form-action 'none'"))


def _data(sections: list[Section]) -> str:
    """All specifications, as a block of data that no text in it can leave."""
    figures = {
        figure.id: {
            "title": figure.title,
            "panels": [{"title": panel.title, "spec": panel.spec} for panel in figure.panels],
        }
        for one in sections
        for figure in one.figures
    }
    document = {"config": theme.config(), "light": theme.variables(dark=False), "figures": figures}
    text = json.dumps(document, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026").replace("\u2028", "\\u2028")
