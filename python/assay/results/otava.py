"""Figures over several result folders as the CSV that Apache Otava reads to find where a series changed."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path

from assay.results import group, row
from assay.results.folder import Folder

_METRICS = ("ops_rate", "service_p50", "service_p99")
_BETTER = {"ops_rate": 1, "service_p50": -1, "service_p99": -1}


def table(folders: Sequence[Folder]) -> str:
    """One row a folder in the order of their dates, one column a figure: the median over repeats that are not invalid.

    The first columns are `time` (ISO 8601) and `folder`. A figure that a folder lacks is empty.
    """
    found = [(one.created_at, one.directory.name, _figures(one)) for one in folders]
    found.sort(key=lambda entry: entry[0])
    names = list(dict.fromkeys(name for *_, figures in found for name in figures))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["time", "folder", *names])
    for at, name, figures in found:
        writer.writerow([at, name, *(f"{figures[one]:.6g}" if one in figures else "" for one in names)])
    return text.getvalue()


def configuration(path: Path, text: str) -> str:
    """Otava's file of tests for a table that lies at `path`: every figure with the direction that is better."""
    names = next(csv.reader(io.StringIO(text)))[2:]
    lines = ["tests:", "  assay:", "    type: csv", f"    file: {path.resolve()}", "    time_column: time"]
    lines += ["    attributes: [folder]", "    metrics:"]
    for name in names:
        direction = _BETTER[next(metric for metric in _METRICS if name.endswith(metric))]
        lines += [f"      {name}:", f"        column: {name}", f"        direction: {direction}"]
    return "\n".join([*lines, "    csv_options:", "      delimiter: ','"]) + "\n"


def _figures(folder: Folder) -> dict[str, float]:
    found = {}
    keyed: dict[str, list[row.Row]] = {}
    for one in row.rows(folder.cells):
        keyed.setdefault(f"{one.cell.id.rpartition('-r')[0] or one.cell.id}_{one.name}", []).append(one)
    for name, rows in keyed.items():
        for metric in _METRICS:
            point = group.point(rows, metric)
            if point is not None and point.status != "invalid":
                found[re.sub(r"[^0-9A-Za-z_]+", "_", f"{name}_{metric}")] = point.value
    return found
