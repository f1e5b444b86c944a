"""What `assay history` does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.cli import output
from assay.compare import history
from assay.compare.change import LEVEL
from assay.error import DONE


def follow(directories: Sequence[Path], metric: str, over: str, page: Path | None, as_json: bool) -> int:
    """Reads the series, shows where they changed and writes the page."""
    found = history.read(directories, metric, over)
    if page is not None:
        from assay.compare.view.page import write_history

        write_history(page, found)
    if as_json:
        output.emit(found.document() | {"page": str(page) if page else None})
        return DONE
    with output.to_reader():
        _show(found, page)
    return DONE


def _show(found: history.History, page: Path | None) -> None:
    for one in found.series:
        output.say(one.name)
        for text in history.sentences(one):
            output.say(f"  {text}")
    count = len(found.series)
    if count > 1:
        output.say(f"{count} series were searched at {LEVEL:.0%} each: about {LEVEL * count:.1f} false changes in all.")
    for text in found.problems:
        output.say(f"note: {text}")
    if page is not None:
        output.say(f"page: {page}")
