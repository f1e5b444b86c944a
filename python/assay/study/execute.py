"""Runs the cells of a plan one after another, and leaves a result folder that is valid at every moment."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol

from assay.binary import Binary, Run, said
from assay.error import DONE, FAILED, INTERRUPTED, NOT_POSSIBLE
from assay.record import Record, WorkRecord
from assay.results.files import explain, write_json
from assay.results.journal import CellJournal, last_states
from assay.study import outcome as outcomes
from assay.study.cell import Cell
from assay.study.driven import Sessions
from assay.study.interrupts import Interrupts
from assay.study.outcome import Outcome
from assay.study.plan import Plan
from assay.study.work import declared
from assay.untyped import Json


class Observer(Protocol):
    """Who shows what goes on."""

    def begin(self, plan: Plan, left: list[Cell]) -> None:
        """The cells that are left are about to run."""

    def cell_begins(self, cell: Cell) -> None:
        """A cell starts."""

    def event(self, cell: Cell, event: Json) -> None:
        """The measuring program said something."""

    def cell_ends(self, cell: Cell, outcome: Outcome) -> None:
        """A cell ended."""

    def note(self, text: str) -> None:
        """Something that people should know."""

    def end(self) -> None:
        """Nothing more will be shown."""


@dataclass
class Ending:
    """How a study ended: the last state of every cell, by id."""

    states: dict[str, str] = field(default_factory=dict)
    interrupted: bool = False
    corrupt: bool = False

    def count(self, state: str) -> int:
        """Cells in a state."""
        return sum(1 for seen in self.states.values() if seen == state)

    @property
    def exit_code(self) -> int:
        """3 interrupted, 1 something failed, 4 nothing was possible here, 0 otherwise."""
        if self.interrupted:
            return INTERRUPTED
        if self.count("failed") or self.corrupt or not self.states:
            return FAILED
        return DONE if self.count("finished") else NOT_POSSIBLE


def execute(plan: Plan, directory: Path, binary: Binary, observer: Observer, interrupts: Interrupts) -> Ending:
    """Runs what the journal does not show as finished."""
    try:
        for cell in plan.cells:
            cell.record_in(directory).parent.mkdir(exist_ok=True)
        log = (directory / "assayer.log").open("ab")
    except OSError as error:
        raise explain(error, directory) from error
    with log, CellJournal(directory / "journal.ndjson") as journal:
        left = _left(plan.cells, journal, directory)
        with Sessions(left, binary, interrupts, observer.note) as sessions:
            runner = _Runner(directory, binary, observer, interrupts, journal, log, sessions)
            observer.begin(plan, left)
            for cell in left:
                if interrupts.count:
                    break
                runner.run(cell)
            sessions.conclude(plan.cells, directory)
        return _ending(plan.cells, journal, bool(interrupts.count), runner.corrupt)


def _left(cells: Iterable[Cell], journal: CellJournal, directory: Path) -> list[Cell]:
    """Cells that are still to do: neither finished with their record in place, nor refused by the plan before."""
    states = {cell: entry["state"] for cell, entry in last_states(journal.entries).items()}
    return [cell for cell in cells if not _done(cell, states.get(cell.id, ""), directory)]


def _done(cell: Cell, state: str, directory: Path) -> bool:
    if cell.refusal is not None:
        return state == "refused"
    return state == "finished" and cell.record_in(directory).is_file()


def _ending(cells: Iterable[Cell], journal: CellJournal, interrupted: bool, corrupt: bool) -> Ending:
    last = last_states(journal.entries)
    states = {cell.id: str(last[cell.id]["state"]) if cell.id in last else "waiting" for cell in cells}
    return Ending(states, interrupted, corrupt)


@dataclass
class _Runner:
    """Runs single cells."""

    directory: Path
    binary: Binary
    observer: Observer
    interrupts: Interrupts
    journal: CellJournal
    log: IO[bytes]
    sessions: Sessions
    corrupt: bool = False

    def run(self, cell: Cell) -> None:
        """Runs a cell, stores its record, then says so: in this order, so that the journal never lies."""
        if cell.refusal is not None:
            self._end(cell, Outcome("refused", None, cell.refusal.reason, cell.refusal.fix, NOT_POSSIBLE))
            return
        self.journal.add(cell.id, "started")
        self.observer.cell_begins(cell)
        outcome = self.sessions.measure(cell) if cell.driven else self._measure(cell)
        if outcome.record is not None:
            write_json(cell.record_in(self.directory), outcome.record)
            self.corrupt = self.corrupt or _is_corrupt(outcome.record)
        self._end(cell, outcome)

    def _end(self, cell: Cell, outcome: Outcome) -> None:
        self.journal.add(cell.id, outcome.state, reason=outcome.reason, fix=outcome.fix, exit_code=outcome.exit_code)
        self.observer.cell_ends(cell, outcome)

    def _measure(self, cell: Cell) -> Outcome:
        begin = self.log.tell()
        run = declared.program(cell.job, self.binary).start(cell.job, self.log, (*(cell.program or ("run",)), "-"))
        self.interrupts.watch(run)
        try:
            last = self._follow(cell, run)
            returned = run.wait()
        except BaseException:
            run.kill()
            run.wait()
            raise
        finally:
            self.interrupts.watch(None)
        return outcomes.read(last, returned, self.interrupts.count > 0, self._complaint(begin))

    def _follow(self, cell: Cell, run: Run) -> Json | None:
        last = None
        for event in run.events():
            if event["event"] in ("finished", "worked", "refused"):
                last = event
            self.observer.event(cell, event)
        return last

    def _complaint(self, begin: int) -> str:
        """What the program wrote to its log at last, since `begin`."""
        with Path(self.log.name).open("rb") as log:
            log.seek(begin)
            return said(log.read().decode(errors="replace"))[0]


def _is_corrupt(record: Record | WorkRecord) -> bool:
    return any(reason["code"] == "data-corrupt" for reason in record["verdict"]["reasons"])
