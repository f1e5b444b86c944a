"""Turns a result folder into one page that a database engineer can read, offline, on any screen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.results import collector, folder
from assay.results.folder import ReportError

if TYPE_CHECKING:
    from assay.report.answer import Answer

__all__ = ["ReportError", "answers", "document", "write"]


def answers(directory: Path) -> list[Answer]:
    """What a run says, in sentences. Raises `ReportError` where the folder holds nothing to report."""
    from assay.report import answer

    return answer.of(folder.read(Path(directory)))


@collector.paused()
def write(
    directory: Path,
    *,
    export: bool = False,
    pdf: bool = False,
    warn: Callable[[tuple[str, ...]], None] | None = None,
) -> Path:
    """Writes `report.html` into a result folder and returns its path.

    With `export` every figure is also written to `figures/` as PNG, SVG, CSV and Parquet, with `pdf` a summary of one
    page to `report.pdf`. `warn` is told the folder's problems before anything is drawn, so that it is read once. Raises
    `ReportError` where the folder holds nothing to report, or cannot be written to.
    """
    found = folder.read(Path(directory))
    if warn is not None:
        warn(found.problems)
    from assay.report import page

    return page.write(found, export=export, pdf=pdf)


@collector.paused()
def document(directory: Path) -> dict[str, Any]:
    """What the report says, as JSON: answers, advice, headroom, and what is wrong with the folder."""
    from assay.advise import of
    from assay.advise.facts import RuleFacts
    from assay.report import answer, headroom

    found = folder.read(Path(directory))
    return {
        "answers": [
            {"question": one.question, "answer": one.plain, "verdict": one.standing} for one in answer.of(found)
        ],
        "advice": [one.document() for one in of(RuleFacts(found))],
        "headroom": [one.document() for one in headroom.find(found)],
        "problems": list(found.problems),
    }
