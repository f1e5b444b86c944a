"""TPC-C on a database as work of a study: loaded once, copied to each target, restored before each run, compared."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from assay.binary import Binary
from assay.dbms.grant import Grant
from assay.dbms.target import DatabaseTarget, check_room, folder_of, target_of
from assay.dbms.tpcc.bench import Bench, ServerSnapshot
from assay.dbms.tpcc.contrast import durable_writes_per_s, note
from assay.dbms.tpcc.order import TpccFlags, asked
from assay.dbms.tpcc.run import bench_of, drive, load
from assay.dbms.tpcc.stores import ExternalBench
from assay.error import BAD_JOB, FAILED, AssayError
from assay.record import WorkRecord
from assay.study.cell import Cell
from assay.study.work import declared
from assay.study.work.runners import WorkCost
from assay.study.work.view import first_failed
from assay.target.target import Target
from assay.untyped import Json

Listener = Callable[[str], None]
KIND = "dbms-tpcc"
VERSION = 1
# Of loading a warehouse, and of checks and copies around a run: for the plan, as seen on the engines that load slowest.
_LOAD_S, _AROUND_S = 4.0, 5.0
# What a run's log and pages write, for the plan.
_WRITE_BYTES_PER_S = 50e6


class TpccRunner:
    """Does the cells of kind `dbms-tpcc`."""

    def __init__(self, grant: Grant | None = None) -> None:
        self._grant = grant or Grant()

    def job(self, table: Mapping[str, Any], on: Target, roles: Mapping[str, Target], seed: int) -> Json:
        """The job of a cell: what was asked, the folders, and what has to be given on a command line."""
        document = {
            "version": VERSION,
            "target": folder_of(on),
            "parts": {name: folder_of(one, name) for name, one in roles.items()},
            "asked": dict(table),
            "given": self._grant.told(),
            "seed": seed,
        }
        self.flags(document).validate()
        return document

    def flags(self, job: Json) -> TpccFlags:
        """What a job asks for.

        Raises:
            AssayError: where it was begun with what this command line does not give.
        """
        options = declared.options(KIND, asked, job["asked"])
        self._grant.require(job["given"], options.get("pg_set", ()))
        return asked(**options).placed(job["parts"], job["seed"], self._grant)

    def cost(self, job: Json) -> WorkCost:
        """What a run takes, its share of loading and copying included."""
        order = self.flags(job)
        warehouses = order.warehouses / (50 if order.small else 1)
        window_s = order.drive()["ramp_s"] + order.duration_s
        written = order.data_bytes() + int(window_s * _WRITE_BYTES_PER_S)
        name = f"{KIND} {_data(job)}"
        files = {(job["target"], name, 0): order.data_bytes()}
        files |= {(folder, f"{name} {role}", 0): order.part_bytes(role) for role, folder in job["parts"].items()}
        return WorkCost(window_s + warehouses * _LOAD_S + _AROUND_S, written, {} if order.connect else files)

    def members(self, job: Json) -> list[str]:
        """Folders that it writes to."""
        return list(dict.fromkeys([job["target"], *job["parts"].values()]))

    @contextlib.contextmanager
    def session(self, cells: Sequence[Cell], binary: Binary, listen: Listener) -> Iterator[_Session]:
        """Databases of these cells; they are removed in the end."""
        found = _Session(self, cells, binary, listen)
        try:
            yield found
        finally:
            found.close()


def _data(job: Json) -> str:
    """What cells share that work on the same database: all but how it is driven."""
    driven = {"terminals", "duration", "ramp", "rate", "poisson", "think", "warehouse", "zipf", "mix", "spoil"}
    shared = {key: value for key, value in job["asked"].items() if key not in driven}
    # PostgreSQL is set up for so many sessions.
    sessions = job["asked"].get("terminals") if shared.get("engine") == "postgres" else None
    return json.dumps([shared, sessions, job["parts"]], sort_keys=True)


class _Database:
    """A database on all targets of its cells, and the copy that each run begins with."""

    def __init__(self, order: TpccFlags, binary: Binary, folders: Sequence[str], listen: Listener) -> None:
        self._binary, self._listen = binary, listen
        self._benches: dict[str, Bench] = {}
        self._snapshot: ServerSnapshot | None = None
        self.probes: dict[str, float] = {}
        try:
            self._make(order, folders)
            self._load(order)
        except BaseException:
            self.remove()
            raise

    def _make(self, order: TpccFlags, folders: Sequence[str]) -> None:
        if order.connect and order.engine == "postgres":
            self._benches = dict.fromkeys(folders, ExternalBench(order))
            return
        targets = [target_of(self._binary, folder) for folder in folders]
        _require_room(order, self._binary, targets)
        for target in targets:
            self._benches[target.name] = bench_of(order, self._binary, target)
        if len(targets) > 1:
            self.probes = {target.name: durable_writes_per_s(target.folder) for target in targets}

    def _load(self, order: TpccFlags) -> None:
        first = next(iter(self._benches.values()))
        if failed := first_failed(load(order, self._binary, first, self._listen)):
            hint = "repeat it on another target; where it fails there too, the engine is wrong"
            raise AssayError(f"what was loaded is wrong: {failed}", hint=hint, code=FAILED)
        self._snapshot = first.snapshot()

    def drive(self, order: TpccFlags, folder: str) -> WorkRecord:
        """A run on a target, on the database as it was loaded."""
        return drive(order, self._binary, self._benches[folder], self._snapshot, self._listen)

    def remove(self) -> None:
        """Removes all of it; the last one first: each puts back what it found."""
        if self._snapshot is not None:
            self._snapshot.remove()
        for bench in reversed(list(dict.fromkeys(self._benches.values()))):
            bench.remove()


def _require_room(order: TpccFlags, binary: Binary, targets: Sequence[DatabaseTarget]) -> None:
    # Each target holds its copy and what runs add; the copy that is restored from lies on the first one.
    needs = [(target, order.data_bytes() * (2 if place == 0 else 1)) for place, target in enumerate(targets)]
    parts = [(target_of(binary, getattr(order, role)), order.part_bytes(role)) for role in order.apart()]
    check_room([*needs, *((part, size * (len(targets) + 1)) for part, size in parts)])


class _Session:
    """Databases by what they hold, made when the first cell that works on them comes."""

    def __init__(self, runner: TpccRunner, cells: Sequence[Cell], binary: Binary, listen: Listener) -> None:
        self._runner, self._cells, self._binary, self._listen = runner, cells, binary, listen
        self._databases: dict[str, _Database | AssayError] = {}

    def run(self, cell: Cell) -> WorkRecord:
        """A measured run; its record."""
        order = self._runner.flags(cell.job)
        self._listen(f"{cell.job['name']}, on {cell.job['target']}")
        return self._database(order, cell.job).drive(order, cell.job["target"])

    def _database(self, order: TpccFlags, job: Json) -> _Database:
        key = _data(job)
        if key not in self._databases:
            self._databases[key] = self._made(order, key)
        found = self._databases[key]
        if isinstance(found, AssayError):
            raise found
        return found

    def _made(self, order: TpccFlags, key: str) -> _Database | AssayError:
        """What could not be made or loaded once is not tried again for the next run."""
        mine = [cell.job["target"] for cell in self._cells if _data(cell.job) == key]
        if order.connect and order.engine == "postgres" and len(mine) > 1:
            message = "a server that Assay did not start cannot be restored"
            return AssayError(message, hint="leave --repeats out, and name one target", code=BAD_JOB)
        try:
            return _Database(order, self._binary, list(dict.fromkeys(mine)), self._listen)
        except AssayError as error:
            return error

    def conclude(self, done: Sequence[tuple[Cell, WorkRecord]]) -> list[tuple[Cell, WorkRecord]]:
        """Targets against each other, where cells differ in nothing else."""
        groups: dict[str, list[tuple[Cell, WorkRecord]]] = {}
        for cell, record in done:
            groups.setdefault(json.dumps(cell.job["asked"], sort_keys=True), []).append((cell, record))
        changed = []
        for group in groups.values():
            group.sort(key=lambda one: str(one[1]["run"]["started_at"]))
            database = self._databases.get(_data(group[0][0].job))
            probes = database.probes if isinstance(database, _Database) else {}
            noted = [id(record) for record in note([record for _, record in group], probes)]
            changed += [one for one in group if id(one[1]) in noted]
        return changed

    def close(self) -> None:
        """Removes all databases, the last one first."""
        for found in reversed(list(self._databases.values())):
            if isinstance(found, _Database):
                found.remove()
