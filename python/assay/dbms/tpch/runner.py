"""TPC-H on a database as work of a study: loaded once, copied to each target, passes of its queries, compared."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.binary import Binary
from assay.dbms.grant import Grant
from assay.dbms.target import folder_of
from assay.dbms.tpch import engines
from assay.dbms.tpch.contrast import note
from assay.dbms.tpch.estimate import needed_bytes, seconds
from assay.dbms.tpch.order import COLD, TpchFlags, asked
from assay.dbms.tpch.run import QueryDatabase
from assay.error import AssayError
from assay.record import WorkRecord
from assay.study.cell import Cell
from assay.study.work import declared
from assay.study.work.runners import WorkCost
from assay.target.target import Target
from assay.untyped import Json

Listener = Callable[[str], None]
KIND = "dbms-tpch"
VERSION = 1


class TpchRunner:
    """Does the cells of kind `dbms-tpch`."""

    def __init__(self, grant: Grant | None = None) -> None:
        self._grant = grant or Grant(command="tpch")

    def job(self, table: Mapping[str, Any], on: Target, roles: Mapping[str, Target], seed: int) -> Json:
        """The job of a cell: what was asked, the folders, and what has to be given on a command line."""
        words = dict(table)
        if words.get("data_in"):
            words["data_in"] = str(Path(words["data_in"]).expanduser().resolve())
        document = {
            "version": VERSION,
            "target": folder_of(on),
            "parts": {name: folder_of(one, name) for name, one in roles.items()},
            "asked": words,
            "given": self._grant.told(),
            "seed": seed,
        }
        engines.require(self.flags(document).engine)
        return document

    def flags(self, job: Json) -> TpchFlags:
        """What a job asks for.

        Raises:
            AssayError: where it was begun with what this command line does not give.
        """
        options = declared.options(KIND, asked, job["asked"])
        self._grant.require(job["given"], options.get("pg_set", ()))
        return asked(**options).placed(job["parts"], self._grant)

    def cost(self, job: Json) -> WorkCost:
        """What a pass takes, its share of loading and copying included."""
        order = self.flags(job)
        name, size = order.engine.name, needed_bytes(order.engine.name, order.scale)
        runs = len(order.queries) * (1 if order.protocol == COLD else 2)
        return WorkCost(seconds(name, order.scale, runs), size, {(job["target"], f"{KIND} {_data(job)}", 0): size})

    def members(self, job: Json) -> list[str]:
        """Folders that it writes to."""
        return list(dict.fromkeys([job["target"], *job["parts"].values()]))

    @contextlib.contextmanager
    def session(self, cells: Sequence[Cell], binary: Binary, listen: Listener) -> Iterator[TpchSession]:
        """Databases of these cells; they are removed in the end."""
        with contextlib.ExitStack() as stack:
            yield TpchSession(self, cells, binary, listen, stack)


def _data(job: Json) -> str:
    """What cells share that work on the same database: all but how near its data are."""
    return json.dumps([{key: job["asked"][key] for key in job["asked"] if key != "protocol"}, job["parts"]])


class TpchSession:
    """Databases by what they hold, loaded when the first cell that works on them comes."""

    def __init__(
        self, runner: TpchRunner, cells: Sequence[Cell], binary: Binary, listen: Listener, stack: contextlib.ExitStack
    ) -> None:
        self._runner, self._binary, self._listen, self._stack = runner, binary, listen, stack
        self._jobs = [cell.job for cell in sorted(cells, key=lambda cell: cell.id)]
        self._databases: dict[str, QueryDatabase | AssayError] = {}

    def run(self, cell: Cell) -> WorkRecord:
        """A pass over the queries; its record."""
        database = self._database(cell.job)
        self._listen(f"{cell.job['name']}, on {cell.job['target']}")
        return database.measure(self._runner.flags(cell.job).protocol, cell.job["target"])

    def _database(self, job: Json) -> QueryDatabase:
        """What could not be made or loaded once is not tried again for the next pass."""
        key = _data(job)
        if key not in self._databases:
            folders = list(dict.fromkeys(one["target"] for one in self._jobs if _data(one) == key))
            try:
                found = QueryDatabase(self._runner.flags(job), self._binary, folders, self._listen)
                self._databases[key] = found
                self._stack.callback(found.close)
            except AssayError as error:
                self._databases[key] = error
        made = self._databases[key]
        if isinstance(made, AssayError):
            raise made
        return made

    def conclude(self, done: Sequence[tuple[Cell, WorkRecord]]) -> list[tuple[Cell, WorkRecord]]:
        """Repeats against each other and targets against the first, where cells differ in nothing else."""
        groups: dict[str, list[tuple[Cell, WorkRecord]]] = {}
        for cell, record in sorted(done, key=lambda one: one[0].id):
            groups.setdefault(json.dumps(cell.job["asked"], sort_keys=True), []).append((cell, record))
        changed = []
        for group in groups.values():
            noted = [id(record) for record in note([record for _, record in group])]
            changed += [one for one in group if id(one[1]) in noted]
        return changed
