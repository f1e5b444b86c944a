"""What every page that Assay writes has in common: it is one file, and nothing on it comes from anywhere else."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Iterable
from functools import lru_cache
from importlib import resources
from pathlib import Path

import jinja2
from jinja2.filters import do_forceescape, do_mark_safe

from assay.charts import bundle, swatch, theme
from assay.charts.export import subtitle
from assay.charts.model import Figure
from assay.results import labels, reasons
from assay.results.folder import ReportError
from assay.units import show

_ASSETS = resources.files("assay.charts") / "assets"


def replace_file(path: Path, text: str) -> None:
    """Writes beside and renames, so that an earlier page survives a full disk."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise ReportError(
            f"{path} cannot be written ({error.strerror}); free space or choose another folder"
        ) from error


def scripts() -> list[str]:
    """The library that draws, and the page's own scripts."""
    return [
        script(bundle.drawing()),
        *(script((_ASSETS / name).read_text(encoding="utf-8")) for name in ("report.js", "explore.js")),
    ]


def environment() -> jinja2.Environment:
    """Templates of the report, and of other pages that look like it."""
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: (_ASSETS / name).read_text(encoding="utf-8")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["sentence"] = labels.sentence
    environment.filters["words"] = words
    environment.globals.update(units=show, labels=labels, reasons=reasons, swatch=swatch.draw)
    return environment


@lru_cache(maxsize=4096)
def words(text: str) -> str:
    """A sentence as HTML: what stands in backquotes is set as code."""
    return do_mark_safe(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(do_forceescape(text))))


def style() -> str:
    """The style sheet, after the palette in both modes; a printed page is always light."""
    light, dark = (_variables(theme.variables(dark=mode)) for mode in (False, True))
    palette = f":root{{{light}}}@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"
    return palette + (_ASSETS / "report.css").read_text(encoding="utf-8")


def _variables(values: dict[str, str]) -> str:
    return "".join(f"--{name}:{value};" for name, value in values.items())


def script(text: str) -> str:
    """A script that can stand inside a page: nothing in it ends the element or begins a comment."""
    return text.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def fingerprint(text: str) -> str:
    """What a policy names a script by."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def policy(scripts: list[str]) -> str:
    """Only these scripts may run, and nothing may be loaded from anywhere."""
    allowed = " ".join(f"'{fingerprint(text)}'" for text in scripts)
    rules = ("default-src 'none'", f"script-src {allowed}", "style-src 'unsafe-inline'", "img-src data: blob:")
    return "; ".join((*rules, "base-uri 'none'", "form-action 'none'"))


def data(figures: Iterable[Figure]) -> str:
    """All specifications, as a block of data that no text in it can leave."""
    found = {
        figure.id: {
            "title": figure.title,
            "subtitle": subtitle(figure).get("subtitle", []),
            "panels": [{"title": panel.title, "spec": panel.spec} for panel in figure.panels],
        }
        for figure in figures
    }
    document = {"config": theme.config(), "light": theme.variables(dark=False), "figures": found}
    text = json.dumps(document, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026").replace("\u2028", "\\u2028")
