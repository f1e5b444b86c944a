"""Answers of queries: in the right order, and equal to what was stored or to what a second engine says.

Engines count money exactly or in floating point, and pad texts or do not. Numbers agree here when they differ by at
most one part in a million: far narrower than the specification's own tolerance (clause 2.1.3.5: one percent for sums
and averages), and wide enough for sums in floating point.
"""

from __future__ import annotations

import datetime as dt
import functools
import hashlib
import itertools
import json
import math
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from assay.dbms.tpch import query

Value = str | int | float | None
Row = tuple[Value, ...]
Summary = dict[str, Any]

TOLERANCE = 1e-6
_FOLDER = Path(__file__).with_name("answers")


def plain(rows: Sequence[Sequence[Any]]) -> list[Row]:
    """Rows as texts, whole numbers, floating-point numbers and nothing, the same from every engine."""
    return [tuple(_plain(value) for value in row) for row in rows]


def _plain(value: Any) -> Value:
    if value is None or isinstance(value, int | float):
        return value
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dt.datetime):
        return value.date().isoformat()
    if isinstance(value, dt.date):
        return value.isoformat()
    return str(value).rstrip(" ")


def misordered(number: int, rows: Sequence[Row]) -> str:
    """A sentence where the rows are not in the order that the query asks for; empty where they are."""
    keys = query.ORDER.get(number, ())
    for place, (upper, lower) in enumerate(itertools.pairwise(rows), 1):
        for column, falls in keys:
            first, second = (lower[column], upper[column]) if falls else (upper[column], lower[column])
            if _close(first, second):
                continue
            if first is not None and second is not None and first > second:  # type: ignore[operator]
                return f"rows {place} and {place + 1} stand in the wrong order: {upper[column]!r}, {lower[column]!r}"
            break
    return ""


def difference(seen: Sequence[Row], wanted: Sequence[Row]) -> str:
    """A sentence that names the first difference of two answers; empty where they agree, in whatever order."""
    if len(seen) != len(wanted):
        return f"{len(seen)} rows instead of {len(wanted)}"
    kinds = _kinds(wanted)
    for left, right in zip(_sorted(seen, kinds), _sorted(wanted, kinds), strict=True):
        for column, pair in enumerate(zip(left, right, strict=True)):
            if not _close(*pair):
                return f"column {column + 1} is {pair[0]!r} instead of {pair[1]!r} in a row {_short(right)}"
    return ""


def summary(rows: Sequence[Row]) -> Summary:
    """An answer in a few numbers: rows, a digest of texts and whole numbers, sums of the rest.

    The second sum of a column weighs each value by its row's place, so that values in wrong rows show.
    """
    kinds = _kinds(rows)
    ordered = _sorted(rows, kinds)
    exact = "\n".join("|".join(_exact(value, kind) for value, kind in zip(row, kinds, strict=True)) for row in ordered)
    return {
        "rows": len(rows),
        "kinds": kinds,
        "exact": hashlib.sha256(exact.encode()).hexdigest()[:20],
        "sums": [_sums(ordered, column) for column, kind in enumerate(kinds) if kind == "f"],
    }


def against_summary(rows: Sequence[Row], wanted: Summary) -> str:
    """A sentence that says how an answer differs from a stored one; empty where it does not."""
    if len(rows) != wanted["rows"]:
        return f"{len(rows)} rows instead of {wanted['rows']}"
    kinds = str(wanted["kinds"])
    if any(len(row) != len(kinds) for row in rows):
        return f"{len(rows[0])} columns instead of {len(kinds)}"
    if _shaped(rows, kinds)["exact"] != wanted["exact"]:
        return "texts or whole numbers differ from the stored answer"
    columns = [column for column, kind in enumerate(kinds) if kind == "f"]
    for column, left, right in zip(columns, _shaped(rows, kinds)["sums"], wanted["sums"], strict=True):
        for name, one, other, whole in (("sum", left[0], right[0], right[2]), ("places", left[1], right[1], right[3])):
            if abs(one - other) > TOLERANCE * whole:
                return f"column {column + 1} differs from the stored answer ({name}): {one!r} instead of {other!r}"
    return ""


def _shaped(rows: Sequence[Row], kinds: str) -> Summary:
    ordered = _sorted(rows, kinds)
    exact = "\n".join("|".join(_exact(value, kind) for value, kind in zip(row, kinds, strict=True)) for row in ordered)
    digest = hashlib.sha256(exact.encode()).hexdigest()[:20]
    return {"exact": digest, "sums": [_sums(ordered, column) for column, kind in enumerate(kinds) if kind == "f"]}


@functools.cache
def stored(scale: float) -> dict[str, Summary]:
    """The stored answers of a scale factor with the validation parameters, by query; empty where there are none."""
    path = _FOLDER / f"sf{scale:g}.json"
    if not path.is_file():
        return {}
    found: dict[str, Summary] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _kinds(rows: Sequence[Row]) -> str:
    """One letter a column: t text, i whole number, f floating point."""
    width = len(rows[0]) if rows else 0
    return "".join(_kind([row[column] for row in rows]) for column in range(width))


def _kind(values: Sequence[Value]) -> str:
    if any(isinstance(value, str) for value in values):
        return "t"
    return (
        "i"
        if all(value is None or isinstance(value, int) for value in values)
        and any(value is not None for value in values)
        else "f"
    )


def _exact(value: Value, kind: str) -> str:
    if kind == "f":
        return "" if value is not None else "-"
    if kind == "i" and isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "-" if value is None else str(value)


def _sorted(rows: Sequence[Row], kinds: str) -> list[Row]:
    """By texts and whole numbers first: they do not differ by rounding."""
    exact = [column for column, kind in enumerate(kinds) if kind != "f"]
    loose = [column for column, kind in enumerate(kinds) if kind == "f"]

    def key(row: Row) -> tuple[Any, ...]:
        words = tuple(_exact(row[column], kinds[column]) for column in exact)
        return words, tuple(-math.inf if row[column] is None else row[column] for column in loose)

    return sorted((row for row in rows), key=key)


def _sums(rows: Sequence[Row], column: int) -> list[float]:
    """Sum, sum weighed by place, and both of absolute values."""
    values = [float(row[column] or 0.0) for row in rows]
    placed = [value * place for place, value in enumerate(values, 1)]
    return [math.fsum(values), math.fsum(placed), math.fsum(map(abs, values)), math.fsum(map(abs, placed))]


def _close(one: Value, other: Value) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=1e-9)
    return one == other


def _short(row: Row) -> str:
    text = ", ".join(str(value) for value in row)
    return f"({text[:60]}{'...' if len(text) > 60 else ''})"
