"""Places in a TOML file: the line of a field, and how much of a location exists. Errors name them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

_HEADER = re.compile(r"\s*(\[\[?)\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"))*)\s*=""")

Path = tuple[str | int, ...]


def lines_of(text: str) -> dict[Path, int]:
    """Line number, from 1, of every table header and key of a TOML text. Keys inside inline tables are not listed."""
    found: dict[Path, int] = {}
    counts: dict[Path, int] = {}
    table: Path = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            table = _table(_parts(header[2]), header[1] == "[[", counts)
            found.setdefault(table, number)
        elif key := _KEY.match(line):
            found.setdefault(table + _parts(key[1]), number)
    return found


def _parts(dotted: str) -> Path:
    return tuple(part.strip().strip("\"'") for part in re.findall(r"\"[^\"]*\"|'[^']*'|[^.]+", dotted))


def _table(parts: Path, is_array: bool, counts: dict[Path, int]) -> Path:
    path: Path = ()
    for part in parts[:-1]:
        path = _enter((*path, part), counts)
    path += (parts[-1],)
    if is_array:
        counts[path] = counts.get(path, -1) + 1
    return _enter(path, counts)


def _enter(path: Path, counts: dict[Path, int]) -> Path:
    return (*path, counts[path]) if path in counts else path


def line_of(text: str, location: Sequence[str | int]) -> int:
    """Line of a field, or of the nearest table around it; 1 where nothing is found."""
    lines = lines_of(text)
    path = tuple(location)
    while path:
        if path in lines:
            return lines[path]
        path = path[:-1]
    return 1


def existing(location: Sequence[str | int], document: Any) -> list[str | int]:
    """The part of a location that exists in the document: branches of unions are left out."""
    path: list[str | int] = []
    for part in location:
        inside = isinstance(document, dict) and part in document
        if inside or (isinstance(document, list) and isinstance(part, int) and part < len(document)):
            path.append(part)
            document = document[part]
    return path
