"""Turns a result folder into one page that a database engineer can read, offline, on any screen."""

from __future__ import annotations

from pathlib import Path

from assay.report import answer, folder
from assay.report.answer import Answer
from assay.report.folder import ReportError

__all__ = ["Answer", "ReportError", "answers", "write"]


def answers(directory: Path) -> list[Answer]:
    """What a run says, in sentences. Raises `ReportError` where the folder holds nothing to report."""
    return answer.of(folder.read(Path(directory)))


def write(directory: Path, *, export: bool = False) -> Path:
    """Writes `report.html` into a result folder and returns its path.

    With `export` every figure is also written to `figures/` as PNG, SVG, CSV and Parquet. Raises `ReportError` where
    the folder holds nothing to report, or cannot be written to.
    """
    from assay.report import page

    return page.write(folder.read(Path(directory)), export=export)
