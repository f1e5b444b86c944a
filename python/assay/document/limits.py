"""What a document may be at most: a stranger may have written it."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable
from typing import Any

from assay.error import BAD_JOB, AssayError

LARGEST_TOML_BYTES = 16 << 20
LARGEST_JSON_BYTES = 1 << 30
DEEPEST = 64
MOST_CELLS = 100_000
LONGEST_S = 366 * 86400.0


class DocumentError(AssayError):
    """A document that is too large, too deep, or holds a number that is none."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message, hint=hint, code=BAD_JOB)


def toml(text: str, file: str, parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
    """TOML as tables.

    Raises `tomllib.TOMLDecodeError` where it is none, and `DocumentError` where it is more than a document may be.
    """
    _of_size(text, LARGEST_TOML_BYTES, file)
    try:
        document = tomllib.loads(text, parse_float=parse_float)
    except RecursionError as error:
        raise _too_deep(file) from error
    check(document, file)
    return document


def json_document(text: str, file: str) -> Any:
    """JSON as tables and lists.

    Raises `json.JSONDecodeError` where it is none, and `DocumentError` where it is more than a document may be.
    """
    _of_size(text, LARGEST_JSON_BYTES, file)
    try:
        return json.loads(text, parse_constant=lambda word: _no_number(word, file))
    except RecursionError as error:
        raise _too_deep(file) from error


def check(document: Any, file: str) -> None:
    """Refuses what is nested too deep, and numbers that are not finite."""
    level, depth = [document], 0
    while level:
        if depth > DEEPEST:
            raise _too_deep(file)
        for value in level:
            if not isinstance(value, int) and _is_odd(value):
                _no_number(str(value), file)
        level = [inner for value in level for inner in _inside(value)]
        depth += 1


def cells(count: int, name: str) -> None:
    """Refuses a plan of more cells than anybody runs."""
    if count > MOST_CELLS:
        message = f"`{name}` asks for {count:,} cells; a plan has {MOST_CELLS:,} at most"
        raise DocumentError(message, "name fewer values of its factors, or fewer repeats")


def seconds(count: float, what: str) -> None:
    """Refuses a plan that would run for more than a year."""
    if not count <= LONGEST_S:
        days = f"{count / 86400:,.0f} days" if math.isfinite(count) else "no time that ends"
        message = f"{what} would take {days}; a plan takes a year at most"
        raise DocumentError(message, "name fewer values of its factors, fewer repeats, or shorter windows")


def _of_size(text: str, most: int, file: str) -> None:
    if len(text) > most:
        message = f"{file} has {len(text):,} characters; {most:,} are the most that is read"
        raise DocumentError(message, "name a document of Assay's")


def _is_odd(value: Any) -> bool:
    try:
        return not math.isfinite(value)
    except (TypeError, ValueError, OverflowError):
        return False


def _inside(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _no_number(word: str, file: str) -> Any:
    raise DocumentError(f"{file} holds {word} where a number is wanted", "write a number that is finite")


def _too_deep(file: str) -> DocumentError:
    return DocumentError(f"{file} is nested more than {DEEPEST} deep", "name a document of Assay's")
