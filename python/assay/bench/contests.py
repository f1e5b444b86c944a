"""Contests with rivals as work of a study: each cell is a turn of one side, and both turns of a pair are adjacent."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay import own
from assay.bench.contest import SERVERS, Ring, Size, held_bytes
from assay.bench.meeting import OURS, meeting_of
from assay.bench.reading import of_record
from assay.binary import Binary
from assay.dbms.postgres.user import server_user
from assay.dbms.target import folder_of
from assay.error import BAD_JOB, FAILED, AssayError
from assay.record import WorkRecord
from assay.study.cell import Cell
from assay.study.work.runners import WorkCost
from assay.target.target import Target
from assay.untyped import Json

VERSION = 1
# Of checks and copies around a window, and of loading, for the plan.
_AROUND_S = 5.0


class ContestRunner:
    """Does the cells of kind `contest`."""

    def job(self, table: Mapping[str, Any], on: Target, roles: Mapping[str, Target], seed: int) -> Json:
        """The job of a cell; `beside` is what both turns of a pair have in common."""
        if roles:
            raise AssayError(f"a contest has no {min(roles)}", hint=f"leave --on {min(roles)}=... out", code=BAD_JOB)
        document = {"version": VERSION, "target": folder_of(on), "asked": dict(table), "seed": seed}
        meeting_of(document)
        alike = {key: table[key] for key in table if key != "side"}
        return document | {"beside": json.dumps([document["target"], alike], sort_keys=True)}

    def cost(self, job: Json) -> WorkCost:
        """What a turn takes, its share of loading included."""
        meeting = meeting_of(job)
        size, tpcc = meeting.size, meeting.contest.workload == "tpcc"
        held = held_bytes(meeting.contest, meeting.rival, meeting.ours, size)
        # Tables are kept for each contest, pools for each contestant.
        names = [f"{meeting.contest.name if tpcc else ''} {side} {size.threads}" for side in meeting.sides]
        seconds = size.warmup_s + size.duration_s + _AROUND_S
        return WorkCost(seconds, held, {(job["target"], f"contest {name}", 0): held for name in names})

    def members(self, job: Json) -> list[str]:
        """The folder that it writes to."""
        return [job["target"]]

    @contextlib.contextmanager
    def session(self, cells: Sequence[Cell], binary: Binary, listen: Callable[[str], None]) -> Iterator[ContestSession]:
        """Data of these cells; they are removed in the end. Each contestant brings its own program."""
        del binary
        servers = any(meeting_of(cell.job).rival in SERVERS for cell in cells)
        owner = server_user().owner if servers else None
        with contextlib.ExitStack() as stack:
            yield ContestSession(owner[0] if owner is not None else None, listen, stack)


class ContestSession:
    """Rings by folder and size, made when the first of their cells comes."""

    def __init__(self, owner: int | None, listen: Callable[[str], None], stack: contextlib.ExitStack) -> None:
        self._owner, self._listen, self._stack = owner, listen, stack
        self._rings: dict[tuple[str, Size], Ring] = {}

    def run(self, cell: Cell) -> WorkRecord:
        """A turn; its record. What both sides keep is loaded before the first."""
        meeting = meeting_of(cell.job)
        ring = self._ring(cell.job["target"], meeting.size)
        name = meeting.ours if meeting.side == OURS else meeting.rival
        for side in meeting.sides:
            ring.load(meeting.contest, side)
        self._listen(f"{meeting.name}: {name}")
        record = ring.measure(meeting.contest, name, None if meeting.side == OURS else meeting.ours)
        reading = of_record(record, missing=meeting.contest.workload == "missing")
        if not (reading.per_s > 0 and reading.cpu_ns > 0):
            hint = "ask for a longer window: --duration"
            raise AssayError(f"{name} did nothing in a window, or used no CPU that was counted", hint=hint, code=FAILED)
        record["workload"]["parameters"]["contest"] = meeting.contest.name
        return record

    def _ring(self, target: str, size: Size) -> Ring:
        key = (target, size)
        if key not in self._rings:
            folder = own.make(Path(target), "assay-rivals-", self._owner)
            self._stack.callback(own.remove, folder)
            self._rings[key] = Ring(folder, size)
            self._stack.callback(self._rings[key].close)
        return self._rings[key]

    def conclude(self, _done: Sequence[tuple[Cell, WorkRecord]]) -> list[tuple[Cell, WorkRecord]]:
        """Pairs are compared where they are shown."""
        return []
