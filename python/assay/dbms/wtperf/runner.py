"""wtperf as work of a study: filled once for its runs on a target, each on a copy; compared in the end."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.binary import Binary
from assay.dbms.grant import Grant
from assay.dbms.target import check_room, folder_of, target_of
from assay.dbms.workspace import Workspace
from assay.dbms.wtperf.contrast import note
from assay.dbms.wtperf.job import MODES, WtperfWorkload
from assay.dbms.wtperf.run import Filled, WtperfFlags
from assay.error import BAD_JOB, AssayError
from assay.record import WorkRecord
from assay.rivals import wiredtiger
from assay.study.cell import Cell
from assay.study.work import declared
from assay.study.work.runners import WorkCost
from assay.target.target import Target
from assay.units.parse import parse_seconds
from assay.untyped import Json

KIND = "dbms-wtperf"
VERSION = 1
# A row of wtperf's is about 120 bytes; a run may write it again.
BYTES_PER_ROW = 500
LEAST_BYTES = 500_000_000
# Of a workload that does not say how long it runs, and of filling, for the plan.
_WINDOW_S, _FILL_S = 60.0, 10.0


def asked(
    workload: str = "small-btree",
    page_cache: str = "on",
    settings: tuple[str, ...] = (),
    duration: str = "",
    limit: str = "1h",
) -> Json:
    """What a command or a study's `[work]` asks for; `assay dbms wtperf --help` says what each means."""
    if page_cache not in MODES:
        raise AssayError(f"the page cache cannot be `{page_cache}`", hint="it is on, off or cold", code=BAD_JOB)
    lasts = (f"run_time={max(1, round(parse_seconds(duration)))}",) if duration else ()
    return {
        "workload": workload,
        "mode": page_cache,
        "settings": (*settings, *lasts),
        "limit_s": parse_seconds(limit),
    }


class WtperfRunner:
    """Does the cells of kind `dbms-wtperf`."""

    def __init__(self, grant: Grant | None = None) -> None:
        self._grant = grant or Grant(command="wtperf")

    def job(self, table: Mapping[str, Any], on: Target, roles: Mapping[str, Target], seed: int) -> Json:
        """The job of a cell: what was asked, the folder, and what has to be given on a command line."""
        if roles:
            raise AssayError(f"wtperf has no {min(roles)}", hint=f"leave --on {min(roles)}=... out", code=BAD_JOB)
        words = dict(table)
        if Path(str(words.get("workload", ""))).is_file():
            words["workload"] = str(Path(words["workload"]).resolve())
        document = {
            "version": VERSION,
            "target": folder_of(on),
            "asked": words,
            "given": self._grant.told(),
            "seed": seed,
        }
        self.flags(document)
        return document

    def flags(self, job: Json) -> WtperfFlags:
        """What a job asks for.

        Raises:
            AssayError: where it was begun with a program that this command line does not give, or there is none.
        """
        words = asked(**declared.options(KIND, asked, job["asked"]))
        self._grant.require(job["given"])
        self._grant.require_typed(words["workload"], words["settings"])
        program = wiredtiger.find(self._grant.program)
        workload = WtperfWorkload.find(words["workload"], program, words["settings"])
        return WtperfFlags(program, workload, words["mode"], words["limit_s"])

    def cost(self, job: Json) -> WorkCost:
        """What a run takes, its share of filling included."""
        order = self.flags(job)
        lasts, size = order.workload.option("run_time"), data_bytes(order)
        seconds = (float(lasts) if lasts.isdigit() else _WINDOW_S) + _FILL_S
        return WorkCost(seconds, 2 * size, {(job["target"], _data(job), 0): size})

    def members(self, job: Json) -> list[str]:
        """The folder that it writes to."""
        return [job["target"]]

    @contextlib.contextmanager
    def session(self, cells: Sequence[Cell], binary: Binary, listen: Callable[[str], None]) -> Iterator[WtperfSession]:
        """Filled databases of these cells; they are removed in the end."""
        with contextlib.ExitStack() as stack:
            yield WtperfSession(self, cells, binary, listen, stack)


def data_bytes(order: WtperfFlags) -> int:
    """Bytes of a filled database, about."""
    rows = order.workload.option("icount")
    return int(rows) * BYTES_PER_ROW + LEAST_BYTES if rows.isdigit() else LEAST_BYTES


def _data(job: Json) -> str:
    return f"{KIND} {json.dumps(job['asked'], sort_keys=True)}"


class WtperfSession:
    """Databases by target and workload, filled when the first of their cells comes."""

    def __init__(
        self,
        runner: WtperfRunner,
        cells: Sequence[Cell],
        binary: Binary,
        listen: Callable[[str], None],
        stack: contextlib.ExitStack,
    ) -> None:
        self._runner, self._binary, self._listen = runner, binary, listen
        self._filled: dict[tuple[str, str], Filled] = {}
        jobs = {(cell.job["target"], _data(cell.job)): cell.job for cell in cells}
        needs = [(target_of(binary, job["target"]), data_bytes(runner.flags(job))) for job in jobs.values()]
        # Beside what is filled lies one copy, which a run may make larger.
        largest = max((size for _, size in needs), default=0)
        folders = dict.fromkeys(job["target"] for job in jobs.values())
        check_room([*needs, *((target_of(binary, folder), 2 * largest) for folder in folders)])
        self._spaces = {folder: stack.enter_context(Workspace(Path(folder))) for folder in folders}

    def run(self, cell: Cell) -> WorkRecord:
        """A measured run; its record."""
        key = (cell.job["target"], _data(cell.job))
        if key not in self._filled:
            self._filled[key] = self._fill(cell.job)
        self._listen(f"{cell.job['name']}, on {cell.job['target']}")
        return self._filled[key].measure(self._binary)

    def _fill(self, job: Json) -> Filled:
        order, space = self._runner.flags(job), self._spaces[job["target"]]
        self._listen(f"{order.workload.name} on {job['target']}: filling")
        folder = space.path / f"filled-{len(self._filled)}"
        try:
            return Filled(order, target_of(self._binary, job["target"]), space, folder)
        except BaseException:
            space.remove(folder)
            raise

    def conclude(self, done: Sequence[tuple[Cell, WorkRecord]]) -> list[tuple[Cell, WorkRecord]]:
        """Repeats against each other, and each target against the first, by the page cache's mode."""
        modes: dict[str, list[tuple[Cell, WorkRecord]]] = {}
        for cell, record in sorted(done, key=lambda one: str(one[1]["run"]["started_at"])):
            modes.setdefault(cell.job["asked"].get("page_cache", "on"), []).append((cell, record))
        changed = []
        for group in modes.values():
            noted = [id(record) for record in note([record for _, record in group])]
            changed += [one for one in group if id(one[1]) in noted]
        return changed
