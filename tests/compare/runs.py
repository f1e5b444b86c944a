"""Runs, pairs and comparisons with figures that a test chooses, without a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from assay.compare.comparison import Comparison
from assay.compare.design import Design
from assay.compare.judgement import Rules
from assay.compare.line import Line
from assay.compare.pair import Pair
from assay.compare.side import Side
from assay.record import Record
from assay.results import row
from assay.results.folder import Cell
from assay.results.row import Row

from compare.folders import Made, record


def run(value: float = 1000.0, at: float = 0.0, repeat: int = 1, study: str = "scan", **made: Any) -> Row:
    """A run of half a second that began at `at`; `side` is the folder that its id names."""
    scenario, directory = made.pop("scenario", "all"), Path(made.pop("side", "a"))
    one = Made([value] * repeat, [at] * repeat, **made)
    document = cast("Record", record(one, repeat, directory))
    cell = Cell(f"{one.name}-r{repeat}", study, scenario, repeat, one.factors, "finished", "", "", document)
    return row.rows([cell])[0]


def raw(one: Row) -> Any:
    """The record of a run, to be changed."""
    return one.record


def pair(a: Row, b: Row, number: int = 1) -> Pair:
    return Pair(number, a, b)


def pairs(a: Sequence[float], b: Sequence[float], **made: Any) -> tuple[Pair, ...]:
    """Pairs that took turns, a second after the other, A first in every other one."""
    found = []
    for place, (left, right) in enumerate(zip(a, b, strict=True)):
        first, number = 2.0 * place, place + 1
        one = run(left, first + place % 2, number, side="a", **made)
        found.append(Pair(number, one, run(right, first + 1 - place % 2, number, side="b", **made)))
    return tuple(found)


def line(of: Sequence[Pair] = (), metric: str = "ops_rate", **given: Any) -> Line:
    shown: dict[str, Any] = {"cell": "threads 4", "class_name": "scan", "dropped": (), "alone": {"A": 0, "B": 0}}
    shown |= {"design": Design("paired", 1, 1), "provenance": ("measured", "measured")}
    return Line(metric=metric, pairs=tuple(of), **(shown | given))


def side(name: str, *rows: Row, **given: Any) -> Side:
    shown: dict[str, Any] = {"label": f"side {name}", "directory": Path(name.lower()), "planned": ()}
    return Side(name, rows=rows, **(shown | given))


def comparison(*lines: Line, rules: Rules | None = None, **given: Any) -> Comparison:
    shown: dict[str, Any] = {"a": side("A"), "b": side("B"), "environment": (), "only": {}, "left_out": ()}
    return Comparison(rules=rules or Rules(), lines=lines, **(shown | given))
