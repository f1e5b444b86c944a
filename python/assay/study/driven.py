"""Cells that are driven from Python while a study runs: what they share is there from the first of them to the end."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from assay.binary import Binary
from assay.error import AssayError
from assay.results.files import read_json, write_json
from assay.study import outcome as outcomes
from assay.study.cell import Cell
from assay.study.interrupts import Interrupts
from assay.study.outcome import Outcome
from assay.study.work import runners
from assay.study.work.runners import WorkSession


class Sessions:
    """A session for each kind of work, opened when the first cell of it comes."""

    def __init__(
        self, left: Sequence[Cell], binary: Binary, interrupts: Interrupts, listen: Callable[[str], None]
    ) -> None:
        self._left, self._binary, self._interrupts, self._listen = left, binary, interrupts, listen
        self._stack = contextlib.ExitStack()
        self._open: dict[str, WorkSession] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def measure(self, cell: Cell) -> Outcome:
        """Does a cell. An interrupt ends it: what it has is kept where its program wrote it."""
        try:
            with self._interrupts.raising():
                found = outcomes.of_work(self._session(cell.program[0]).run(cell))
        except KeyboardInterrupt:
            found = outcomes.STOPPED
        except AssayError as error:
            found = outcomes.of_error(error)
        if found.state == "interrupted":
            self._interrupts.count = max(1, self._interrupts.count)
        return found

    def _session(self, kind: str) -> WorkSession:
        if kind not in self._open:
            mine = [cell for cell in self._left if cell.program == (kind,) and cell.refusal is None]
            session = runners.runner(kind).session(mine, self._binary, self._listen)
            self._open[kind] = self._stack.enter_context(session)
        return self._open[kind]

    def conclude(self, cells: Sequence[Cell], directory: Path) -> None:
        """Writes what only all records of a kind together say."""
        for kind, session in self._open.items():
            paths = [(cell, cell.record_in(directory)) for cell in cells if cell.program == (kind,)]
            done = [(cell, read_json(path)) for cell, path in paths if path.is_file()]
            for cell, record in session.conclude(done):
                write_json(cell.record_in(directory), record)
