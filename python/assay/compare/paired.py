"""Pairs planned: both sides of each cell one right after the other, in an order drawn by lot."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from assay.binary import Binary
from assay.compare.error import CompareError
from assay.compare.match import CELL_LABEL, SIDE_LABEL
from assay.study.cell import Cell, Refusal
from assay.study.expand import expand
from assay.study.plan import make
from assay.study.request import Prepared, Wish, prepare
from assay.study.settings import ExpandRequest, Value
from assay.target.target import Target

PAIRS = 20
"""Find a loss of 2 % at a scatter of 1 % a run in 99 of 100 cases; ten pairs find 89 (docs/compare-method.md)."""
SIDES = ("A", "B")


@dataclass(frozen=True)
class Sides:
    """What runs on each side, and how often. Settings of a side are laid over the common ones."""

    study: str
    targets: tuple[tuple[Target, ...], tuple[Target, ...]]
    settings: Mapping[str, Value] = field(default_factory=dict)
    own: tuple[Mapping[str, Value], Mapping[str, Value]] = field(default_factory=lambda: ({}, {}))
    profile: str | None = None
    pairs: int = PAIRS
    seed: int = 1

    def label(self, side: int) -> str:
        """What sets a side apart, in words."""
        names = [f"{key}={_said(value)}" for key, value in self.own[side].items()]
        if self.targets[0] != self.targets[1]:
            names = [target.label for target in self.targets[side] if not target.role] + names
        return ", ".join(names) or "the same again"


def _said(value: Value) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def plan(sides: Sides, binary: Binary | None) -> Prepared:
    """Cells of both sides with their order and cost. Nothing is touched."""
    prepared = [prepare(_wish(sides, side), None) for side in (0, 1)]
    requests = [_named(request, side) for side in (0, 1) for request in prepared[side].requests]
    found = [_cells(prepared[side].requests, side) for side in (0, 1)]
    _alike(*found)
    cells = [*found[0].values(), *_with_seeds_of(found[0], found[1])]
    return Prepared(f"compare-{prepared[0].name}", requests, make(cells, sides.seed, binary, in_pairs))


def _wish(sides: Sides, side: int) -> Wish:
    settings = {**sides.settings, **sides.own[side]}
    return Wish(sides.study, sides.targets[side], settings, sides.profile, sides.pairs, sides.seed)


def _named(request: ExpandRequest, side: int) -> ExpandRequest:
    name = f"{request.name}-{SIDES[side].lower()}"
    return replace(request, name=name, title=f"{request.title}, side {SIDES[side]}")


def _cells(requests: Sequence[ExpandRequest], side: int) -> dict[str, Cell]:
    """Cells of a side by the id that they have in common with the other side."""
    found = {}
    for request in requests:
        for cell in expand(_named(request, side)):
            own = f"{request.name}{cell.id.removeprefix(_named(request, side).name)}"
            labels = cell.job["labels"] | {SIDE_LABEL: SIDES[side], CELL_LABEL: own.rpartition("-r")[0]}
            found[own] = replace(cell, job=cell.job | {"labels": labels})
    return found


def _alike(a: Mapping[str, Cell], b: Mapping[str, Cell]) -> None:
    if set(a) != set(b):
        counts = [sum(1 for cell in side.values() if cell.repeat == 1) for side in (a, b)]
        message = f"A has {counts[0]} cells and B has {counts[1]}: they cannot be run as pairs"
        raise CompareError(message, "give each side the same number of values for every factor")


def _with_seeds_of(a: Mapping[str, Cell], b: Mapping[str, Cell]) -> list[Cell]:
    """The cells of B with the seeds of A: both sides of a pair read and write the same offsets."""
    return [replace(cell, job=cell.job | {"seed": a[own].job["seed"]}) for own, cell in b.items()]


def in_pairs(cells: Sequence[Cell], seed: int) -> list[Cell]:
    """Pair after pair; the cells of each round are shuffled, and a coin says which side of a pair runs first."""
    ordered: list[Cell] = []
    for repeat in sorted({cell.repeat for cell in cells}):
        lots = random.Random(f"{seed}:pair:{repeat}")  # noqa: S311  An order that can be repeated is wanted.
        halves: dict[str, list[Cell]] = {}
        for cell in cells:
            if cell.repeat == repeat:
                halves.setdefault(cell.job["labels"][CELL_LABEL], []).append(cell)
        rounds = list(halves.values())
        lots.shuffle(rounds)
        for pair in rounds:
            ordered += _tossed(_refused_together(pair), lots)
    return [replace(cell, order=place) for place, cell in enumerate(ordered)]


def _tossed(pair: list[Cell], lots: random.Random) -> list[Cell]:
    return pair if lots.random() < 0.5 else pair[::-1]


def _refused_together(pair: list[Cell]) -> list[Cell]:
    """Where one half cannot be measured here, the other is not measured for nothing."""
    refused = next((cell for cell in pair if cell.refusal is not None), None)
    if refused is None or refused.refusal is None:
        return pair
    reason = f"Its partner {refused.id} cannot be measured: {refused.refusal.reason}"
    partner = Refusal(reason, refused.refusal.fix)
    return [
        cell if cell.refusal is not None else replace(cell, refusal=partner, seconds=0.0, bytes_written=0)
        for cell in pair
    ]
