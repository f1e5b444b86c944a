"""Which runs of A belong to which runs of B: the same cell, the same class, the same repeat."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from assay.compare.error import CompareError
from assay.compare.pair import Pair
from assay.compare.side import Side
from assay.results import labels, row
from assay.results.row import Row

Key = tuple[Hashable, ...]
Runs = dict[int, Row]

CELL_LABEL = "compare.cell"
"""Label that both cells of a planned pair share."""
SIDE_LABEL = "compare.side"
"""Label that says which side of a planned pair a run is: A or B."""


# Factors that set the sides apart, and no cells, where all runs of a side have the same.
_SIDES = ("on", "subject")


@dataclass(frozen=True)
class Match:
    """A class of a cell that both sides have, with its pairs; `alone` counts runs without a partner, by side."""

    cell: str
    class_name: str
    pairs: tuple[Pair, ...]
    alone: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Matched:
    """What belongs together, and the cells that only one side has."""

    matches: tuple[Match, ...]
    only: Mapping[str, tuple[str, ...]]


def match(a: Side, b: Side) -> Matched:
    """Pairs of both sides: by the cell's number where they were planned as pairs, otherwise by study and factors."""
    if shared := a.runs & b.runs:
        message = f"both sides hold the run {min(shared)}: it cannot be compared with itself"
        raise CompareError(message, "name two folders or two cells that were run by themselves")
    if a.chosen and b.chosen:
        return _cells(a, b)
    left, right = _grouped(a), _grouped(b)
    common = [key for key in left if key in right]
    if not common:
        raise _nothing_in_common(a, b)
    matches = tuple(_match(_title(left[key], right[key]), left[key], right[key]) for key in common)
    return Matched(matches, {"A": _only(left, right), "B": _only(right, left)})


def _grouped(side: Side) -> dict[Key, list[Row]]:
    left_out = {name for name in _SIDES if len({one.cell.factors.get(name) for one in side.rows}) < 2}
    found: dict[Key, list[Row]] = {}
    for one in side.rows:
        factors = {name: value for name, value in one.cell.factors.items() if name not in left_out}
        planned = (one.record["job"].get("labels") or {}).get(CELL_LABEL)
        key = (planned,) if planned else (one.cell.study, one.cell.scenario, row.hashable(factors))
        found.setdefault((*key, one.name), []).append(one)
    return found


def _cells(a: Side, b: Side) -> Matched:
    """One cell of each side: classes by name, or the only class of each."""
    left, right = _by_class(a), _by_class(b)
    title = f"{a.label} and {b.label}"
    if len(left) == len(right) == 1:
        (name, rows), (other, others) = next(iter(left.items())), next(iter(right.items()))
        both = name if name == other else f"{name} and {other}"
        return Matched((_match(title, rows, others, both),), {"A": (), "B": ()})
    common = [name for name in left if name in right]
    if not common:
        raise _nothing_in_common(a, b)
    matches = tuple(_match(title, left[name], right[name]) for name in common)
    only = {"A": tuple(set(left) - set(right)), "B": tuple(set(right) - set(left))}
    return Matched(matches, only)


def _by_class(side: Side) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for one in side.rows:
        found.setdefault(one.name, []).append(one)
    return found


def _match(title: str, a: Sequence[Row], b: Sequence[Row], name: str = "") -> Match:
    left, right = _by_repeat(a), _by_repeat(b)
    pairs = tuple(Pair(repeat, left[repeat], right[repeat]) for repeat in sorted(left) if repeat in right)
    alone = {"A": len(left) - len(pairs), "B": len(right) - len(pairs)}
    return Match(title, name or a[0].name, pairs, alone)


def _by_repeat(rows: Sequence[Row]) -> Runs:
    return {one.cell.repeat: one for one in rows}


def _title(rows: Sequence[Row], others: Sequence[Row] = ()) -> str:
    """Scenario and factors that both sides share; the study where there are none."""
    cell = rows[0].cell
    shared = others[0].cell.factors if others else cell.factors
    said_once = _SIDES if rows[0].of_work else ()
    factors = {n: value for n, value in cell.factors.items() if shared.get(n) == value and n not in said_once}
    said = [f"{labels.dimension(name)} {labels.value(name, value)}" for name, value in factors.items()]
    planned = (rows[0].record["job"].get("labels") or {}).get(CELL_LABEL)
    scenario = [cell.scenario] if cell.scenario != "all" else []
    return ", ".join([*scenario, *said]) or (planned.rpartition("-")[0] if planned else cell.study)


def _only(mine: Mapping[Key, Sequence[Row]], others: Mapping[Key, Sequence[Row]]) -> tuple[str, ...]:
    found = (f"{_title(rows)}, {rows[0].name}" for key, rows in mine.items() if key not in others)
    return tuple(dict.fromkeys(found))


def _nothing_in_common(a: Side, b: Side) -> CompareError:
    seen = [_seen(side) for side in (a, b)]
    message = f"no cell of A has its like in B: A holds {seen[0]}, B holds {seen[1]}"
    return CompareError(message, "compare runs of the same study, or name single cells (FOLDER/CELL)")


def _seen(side: Side) -> str:
    if not side.rows:
        return "no record"
    cells = {one.cell.id.rpartition("-r")[0] for one in side.rows}
    studies = ", ".join(sorted({one.cell.study for one in side.rows}))
    return f"{len(cells)} cell{'s' if len(cells) > 1 else ''} of {studies}"
