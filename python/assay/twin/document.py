"""Writing twins as TOML: numbers with their origin, curves over sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Table = dict[str, Any]


def parameter(value: float, kind: str, source: str, date: str, **more: float) -> Table:
    """A number with its origin; `more` is any of low, high, residual."""
    return {"value": rounded(value), "kind": kind, "source": source, "date": date} | {
        name: rounded(number) for name, number in more.items()
    }


def curve(points: Mapping[float, float], kind: str, source: str, date: str, **more: float) -> Table:
    """Numbers at sizes of accesses, with their origin."""
    sizes = sorted(points)
    return {
        "size_bytes": [int(size) for size in sizes],
        "value": [rounded(points[size]) for size in sizes],
        "kind": kind,
        "source": source,
        "date": date,
    } | {name: rounded(number) for name, number in more.items()}


def rounded(value: float) -> float | int:
    """Four significant digits: more would claim to be known. A whole number that was given as one is exact."""
    if isinstance(value, int):
        return value
    short = float(f"{value:.4g}")
    return int(short) if short == int(short) and abs(short) < 1e15 else short


def to_toml(document: Table) -> str:
    """A document of tables; a table that holds a value or a list of numbers is written on one line."""
    lines: list[str] = []
    _table(document, (), lines)
    return "\n".join(lines).strip() + "\n"


def _table(table: Table, path: tuple[str, ...], lines: list[str]) -> None:
    for name, value in table.items():
        if not _is_section(value):
            lines.append(f"{name} = {_inline(value)}")
    for name, value in table.items():
        if not _is_section(value):
            continue
        below = (*path, name)
        for each in value if isinstance(value, list) else [value]:
            heading = "[[{}]]" if isinstance(value, list) else "[{}]"
            lines.extend(["", heading.format(".".join(below))])
            _table(each, below, lines)


def _is_section(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and isinstance(value[0], dict)
    return isinstance(value, dict) and "source" not in value


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {_inline(each)}" for name, each in value.items()) + " }"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, Sequence):
        return "[" + ", ".join(_inline(each) for each in value) + "]"
    return repr(value)
