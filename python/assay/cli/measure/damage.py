"""What a folder lacks is said before anything is told from the rest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.cli import output

_MOST = 5


def warn(directory: Path, problems: Sequence[str]) -> None:
    """A line on standard error for each file that is missing, cut short or of another version."""
    for problem in problems[:_MOST]:
        output.tell(f"warning: {directory}: {problem}")
    if len(problems) > _MOST:
        more = len(problems) - _MOST
        output.tell(f"warning: {directory}: {more} more like these; the first screen of its report lists all")
