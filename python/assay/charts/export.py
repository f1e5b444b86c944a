"""Every figure as files: PNG and SVG to show, CSV and Parquet to reckon with."""

from __future__ import annotations

import copy
import csv
import re
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import vl_convert

from assay.charts import datum, theme
from assay.charts.model import Figure
from assay.results.folder import ReportError

_WIDTH, _NARROW, _SCALE = 620, 380, 2.0
# Letters in a line of a caption.
_CAPTION = 110


def write(directory: Path, figures: Sequence[Figure]) -> list[Path]:
    """Writes all figures; returns the paths written."""
    try:
        directory.mkdir(exist_ok=True)
        return [path for figure in figures for path in _write(directory, figure)]
    except OSError as error:
        raise ReportError(
            f"{directory} cannot be written ({error.strerror})", hint="free space or choose another folder"
        ) from error


def _write(directory: Path, figure: Figure) -> list[Path]:
    stem = directory / file_name(figure.id)
    spec = whole(figure)
    paths = [stem.with_name(f"{stem.name}.{kind}") for kind in ("svg", "png", "csv", "parquet")]
    svg, png, table, columns = paths
    svg.write_text(vl_convert.vegalite_to_svg(spec), encoding="utf-8")
    png.write_bytes(vl_convert.vegalite_to_png(spec, scale=_SCALE))
    rows = datum.exported(figure.data)
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    _write_parquet(columns, _uniform(rows))
    return paths


def _write_parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    """Arrow is loaded by who exports: a page alone starts without it."""
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.Table.from_pylist(rows), path)


def file_name(name: str) -> str:
    """A name that is safe in every file system."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".-") or "figure"


def _uniform(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One type for each column: a column with text in it is text throughout."""
    texts = {name for row in rows for name, value in row.items() if isinstance(value, str)}
    return [
        {name: str(value) if name in texts and value is not None else _float(value) for name, value in row.items()}
        for row in rows
    ]


def _float(value: Any) -> Any:
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def whole(figure: Figure) -> dict[str, Any]:
    """All panels in one specification with a legend, in the light palette."""
    width = _NARROW if len(figure.panels) > 1 else _WIDTH
    panels = [_fixed(panel.spec, panel.title, width, legend=len(figure.keys) > 1) for panel in figure.panels]
    for place, panel in enumerate(panels):
        _name_apart(panel, place)
    shared = {"scale": dict.fromkeys(("color", "fill", "stroke", "shape", "strokeDash"), "shared")}
    config = {**theme.config(), "background": theme.PAPER, "padding": 18}
    title = {"text": figure.title, "fontSize": 15, "anchor": "start", "color": theme.INK, **subtitle(figure)}
    body: dict[str, Any] = {"concat": panels, "columns": 3, "resolve": shared} if len(panels) > 1 else panels[0]
    if len(panels) == 1:
        body.pop("title", None)
    return theme.literal(
        {"$schema": "https://vega.github.io/schema/vega-lite/v6.1.json", **body, "title": title, "config": config}
    )


def _name_apart(panel: dict[str, Any], place: int) -> None:
    """Layers of one name in one specification would share the data of the last."""
    for layer in panel.get("layer") or []:
        if "name" in layer:
            layer["name"] = f"{layer['name']}-{place}"


def subtitle(figure: Figure) -> dict[str, Any]:
    """The caption with the conditions under which the figure was taken: they go where the picture goes."""
    lines = [line for text in (figure.caption, figure.conditions) for line in textwrap.wrap(text, _CAPTION)]
    look = {"subtitleFontSize": 10.5, "subtitleColor": theme.SOFT, "subtitlePadding": 5, "offset": 14}
    return {"subtitle": lines, **look} if lines else {}


def _fixed(spec: dict[str, Any], title: str, width: int, *, legend: bool) -> dict[str, Any]:
    """A panel of a given width; with a legend on its coloured layers."""
    panel = copy.deepcopy(spec)
    for name in ("$schema", "autosize", "padding"):
        panel.pop(name, None)
    panel["width"] = width
    panel["title"] = title
    if legend:
        panel["layer"] = [layer for layer in panel["layer"] if layer.get("name") != "direct"]
        _legends(panel)
    return panel


def _legends(part: Any) -> None:
    if isinstance(part, list):
        for entry in part:
            _legends(entry)
    elif isinstance(part, dict):
        for name in ("color", "fill", "stroke", "shape", "strokeDash"):
            channel = (part.get("encoding") or {}).get(name)
            if isinstance(channel, dict) and channel.get("field") == "series":
                channel.pop("legend", None)
        _legends(part.get("layer") or [])
