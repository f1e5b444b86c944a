"""Our lines in their files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from assay.error import FAILED, AssayError
from assay.rivals.published.recipe import SourceChange

HEX = 16


def digest(lines: Iterable[str]) -> str:
    """What `was` of a change is: the beginning of the SHA-256 of these lines, each with its end."""
    return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()[:HEX]


def apply(root: Path, changes: Iterable[SourceChange]) -> None:
    """Changes files below a folder that has a source by each name; from a file's end on: lines keep their number.

    Raises:
        AssayError: where a file is not the one that was meant.
    """
    for change in sorted(changes, key=lambda one: (one.source, one.file, one.at), reverse=True):
        path = root / change.source / change.file
        old = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        path.write_text("".join(f"{line}\n" for line in _changed(old, change)), encoding="utf-8")


def _changed(old: list[str], change: SourceChange) -> list[str]:
    first = change.at - 1
    seen = digest(old[first : first + max(1, change.lines)])
    if seen != change.was:
        message = f"line {change.at} of {change.file} is not the one that is to be changed"
        hint = f"its digest is {seen}, and {change.was} was meant: see that the source is at its commit"
        raise AssayError(message, hint=hint, code=FAILED)
    return [*old[:first], *change.text.splitlines(), *old[first + change.lines :]]
