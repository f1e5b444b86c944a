"""The first screen in words: what a run says about the questions that a database engineer asks of a drive."""

from __future__ import annotations

from assay.report.answer import caching, commit, deepest, indexes, latency, layers, paging, scan, together, trust
from assay.report.answer.model import Answer, Number
from assay.results import row
from assay.results.folder import Folder

__all__ = ["Answer", "Number", "of"]


def of(folder: Folder) -> list[Answer]:
    """All questions that the records can answer; how far they can be trusted comes last, and is never missing."""
    rows = row.rows(folder.cells)
    found = [
        latency.find(rows),
        commit.find(rows),
        scan.find(rows),
        paging.find(rows),
        layers.find(folder),
        caching.find(rows),
        deepest.find(rows),
        together.find(folder),
        indexes.find(folder),
    ]
    return [one for one in found if one is not None] + [trust.find(folder)]
