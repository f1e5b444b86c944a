"""Kinds of work that are driven from Python: databases. Rooms above do them; commands say who does which."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from assay.binary import Binary
from assay.error import NOT_POSSIBLE, AssayError
from assay.record import WorkRecord
from assay.study.cell import Cell
from assay.target.target import Target
from assay.untyped import Json


@dataclass(frozen=True)
class WorkCost:
    """What a cell takes: seconds, bytes that are written at most, and bytes that lie there, by (place, what, number).

    Cells whose data lie at the same place under the same name share them.
    """

    seconds: float
    bytes_written: int
    files: dict[tuple[str, str, int], int] = field(default_factory=dict)


class WorkSession(Protocol):
    """What cells of a kind share while a study runs: data that were loaded once, servers."""

    def run(self, cell: Cell) -> WorkRecord:
        """Does a cell; its record."""

    def conclude(self, done: Sequence[tuple[Cell, WorkRecord]]) -> list[tuple[Cell, WorkRecord]]:
        """Writes into records of cells that are done what only all of them together say; those that changed."""


class WorkRunner(Protocol):
    """Who does the cells of a kind of work."""

    def job(self, table: Mapping[str, Any], on: Target, roles: Mapping[str, Target], seed: int) -> Json:
        """The job of a cell on a folder; raises `AssayError` where `table` or the roles are not of this work."""

    def cost(self, job: Json) -> WorkCost:
        """What a job takes."""

    def members(self, job: Json) -> list[str]:
        """Folders that it writes to."""

    def session(
        self, cells: Sequence[Cell], binary: Binary, listen: Callable[[str], None]
    ) -> AbstractContextManager[WorkSession]:
        """For these cells, which are still to be done. What was made for them is removed in the end."""


_KNOWN: dict[str, Callable[[], WorkRunner]] = {}


def register(known: Mapping[str, Callable[[], WorkRunner]]) -> None:
    """Says who does which kind; who it is is asked for when there is such work."""
    _KNOWN.update(known)


_WAITS: list[Callable[[str], Json]] = []


def register_waits(of: Callable[[str], Json]) -> None:
    """Says who knows how long memory that is not here would make a thread wait."""
    _WAITS[:] = [of]


def waits(twin: str) -> Json:
    """What an index in memory waits for as if it lay on a twin's modules: the job's `as_if`.

    Raises:
        AssayError: where it is no twin of memory, or this command knows of none.
    """
    if not _WAITS:
        raise AssayError("no index runs as if on a twin here", hint="use `assay run`", code=NOT_POSSIBLE)
    return _WAITS[0](twin)


def runner(kind: str) -> WorkRunner:
    """Who does a kind of work.

    Raises:
        AssayError: where this command does none of it.
    """
    if kind not in _KNOWN:
        raise AssayError(f"work of kind {kind} is not done here", hint="use `assay run`", code=NOT_POSSIBLE)
    return _KNOWN[kind]()
