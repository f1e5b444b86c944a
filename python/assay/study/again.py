"""More turns of cells that ran once: what one run of a cell cannot know of another."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from assay.results.files import write_json
from assay.study import plan
from assay.study.cell import Cell

TURNS = 3
"""Turns of every cell that is quoted."""


def extend(directory: Path, quoted: Collection[str]) -> int:
    """Plans more turns of the cells with these ids, until each has three; returns how many were added.

    They come in rounds: each of them runs once before any runs again, in an order drawn anew.
    """
    path = directory / "plan.json"
    planned = plan.load(path)
    groups: dict[str, list[Cell]] = {}
    for cell in planned.cells:
        groups.setdefault(cell.group, []).append(cell)
    wanted = sorted({cell.group for cell in planned.cells if cell.id in quoted})
    rounds: list[Cell] = []
    for turn in range(2, TURNS + 1):
        chunk = [_turn(groups[name][-1], turn) for name in wanted if len(groups[name]) < turn]
        random.Random(f"{planned.seed}:again:{turn}:{len(planned.cells)}").shuffle(chunk)  # noqa: S311  As in plan.
        rounds += chunk
    if rounds:
        first = max(cell.order for cell in planned.cells) + 1
        added = [replace(cell, order=first + place) for place, cell in enumerate(rounds)]
        write_json(path, replace(planned, cells=[*planned.cells, *added]).document())
    return len(rounds)


def _turn(cell: Cell, turn: int) -> Cell:
    """The same cell with another number, and another seed."""
    name = f"{cell.group}-r{turn}"
    digest = hashlib.sha256(f"{cell.job['seed']}:{turn}".encode()).digest()
    labels = (cell.job.get("labels") or {}) | {"cell": name, "repeat": str(turn)}
    title = f"{cell.job['name'].rpartition(' #')[0] or cell.job['name']} #{turn}"
    seed = int.from_bytes(digest[:8], "little") >> 11
    return replace(cell, id=name, repeat=turn, job=cell.job | {"name": title, "labels": labels, "seed": seed})
