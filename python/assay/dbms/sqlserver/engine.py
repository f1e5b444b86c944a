"""SQL Server as an engine of TPC-H. Not verified against a server."""

from __future__ import annotations

import contextlib
import hashlib
import secrets
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from assay.dbms.sqlserver.connection import Address, Connection, address, connect
from assay.dbms.sqlserver.settings import Settings, quoted
from assay.dbms.tpch import dialect as dialects
from assay.dbms.tpch.answers import plain
from assay.dbms.tpch.data import Files
from assay.dbms.tpch.embedded import QueryError, timed
from assay.dbms.tpch.engine import Loaded, PlanNode, QueryPlan, QueryRun, QueryWish
from assay.dbms.tpch.schema import INDEXES, TABLES, index_name
from assay.error import FAILED
from assay.untyped import Json

UNVERIFIED = "not verified against a server"
_PAGE = 8192
_COUNTERS = """select s.cpu_time, s.reads, s.writes, s.logical_reads,
(select coalesce(sum(w.wait_time_ms), 0) from sys.dm_exec_session_wait_stats w
 where w.session_id = s.session_id and w.wait_type like 'PAGEIOLATCH%')
from sys.dm_exec_sessions s where s.session_id = @@spid"""


class SqlServer:
    """A database of our own on a server that runs already; it is dropped in the end, and no other is touched."""

    name = "sqlserver"
    dialect = dialects.SQLSERVER

    def __init__(
        self,
        wish: QueryWish,
        workers: int,
        settings: Settings | None = None,
        connector: Callable[[Address], Connection] = connect,
    ) -> None:
        self.workers = workers
        self._wish = wish
        self._address = address(wish.connect)
        self._connector = connector
        chosen = settings or wish.sqlserver or Settings()
        self._settings = replace(chosen, temp=wish.temp) if wish.temp else chosen
        self._back: list[str] = []
        self._connection: Connection | None = None
        self._databases: dict[Path, str] = {}
        self.version = str(self._all("select @@version", once=True)[0][0]).splitlines()[0]

    def settings(self) -> Json:
        """What was set, and that nobody has seen this work."""
        return {"adapter": UNVERIFIED} | self._settings.document()

    def load(self, files: Files, folder: Path) -> Loaded:
        """A database with its files in the folder; rows in bulk, keys, indexes, statistics."""
        if not self._back:
            self._back = self._settings.server_statements_back(lambda sql: self._all(sql, once=True))
        for statement in self._settings.server_statements():
            self._do(statement, once=True)
        database = f"assay_tpch_{secrets.token_hex(4)}"
        folder.chmod(0o777)  # The server writes there as a user of its own.
        self._do(self._create(database, folder), once=True)
        self._databases[folder] = database
        for statement in self._settings.database_statements(database):
            self._do(statement, once=True)
        seconds: dict[str, float] = {}
        self.start(folder)
        try:
            self._fill(files, seconds)
        finally:
            self.stop()
        return Loaded(seconds, sum(path.stat().st_size for path in folder.iterdir()))

    def _create(self, database: str, folder: Path, attach: bool = False) -> str:
        data, log = (quoted(str(path)) for path in self._files(folder))
        text = f"create database [{database}] on (name = data, filename = {data})"
        if attach:
            return f"{text}, (filename = {log}) for attach"
        return f"{text} log on (name = log, filename = {log})"

    def _files(self, folder: Path) -> tuple[Path, Path]:
        return folder / "assay.mdf", (self._wish.wal or folder) / f"{folder.parent.name}.ldf"

    def _fill(self, files: Files, seconds: dict[str, float]) -> None:
        with timed(seconds, "copy"):
            for table in TABLES:
                self._do(dialects.SQLSERVER.create(table))
                with self._cursor() as cursor, files.table(table.name).open(encoding="ascii") as file:
                    rows = _Rows(file)
                    columns = [column.name for column in table.columns]
                    cursor.copy_to(rows, table.name, "|", columns)
        with timed(seconds, "indexes"):
            for table in TABLES:
                self._do(f"alter table {table.name} add primary key ({', '.join(table.primary_key)})")
            for name, columns_ in INDEXES:
                self._do(f"create index {index_name(name, columns_)} on {name} ({columns_})")
        with timed(seconds, "analyze"):
            self._do("exec sp_updatestats")

    def copy(self, source: Path, folder: Path) -> None:
        """Detached, copied, attached twice: the same pages."""
        database = self._databases[source]
        copied = f"assay_tpch_{secrets.token_hex(4)}"
        self._do(f"exec sp_detach_db {quoted(database)}", once=True)
        try:
            folder.chmod(0o777)
            for one, other in zip(self._files(source), self._files(folder), strict=True):
                shutil.copyfile(one, other)
        finally:
            self._do(self._create(database, source, attach=True), once=True)
        self._do(self._create(copied, folder, attach=True), once=True)
        self._databases[folder] = copied

    def folders(self, folder: Path) -> Sequence[Path]:
        """Nothing that the page cache could hold: the server opens its files without it."""
        del folder
        return ()

    def start(self, folder: Path) -> None:
        """Connects with an empty buffer pool and no plans."""
        self.stop()
        self._connection = self._connector(self._address)
        for statement in (f"use [{self._databases[folder]}]", "checkpoint", "dbcc dropcleanbuffers"):
            self._do(statement)
        self._do("alter database scoped configuration clear procedure_cache")

    def stop(self) -> None:
        """Disconnects."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def kill(self) -> None:
        """Disconnects; the server ends what the session was at."""
        with contextlib.suppress(Exception):
            self.stop()

    def close(self) -> None:
        """Drops the databases that were made, and puts back what was set for the whole server."""
        self.kill()
        back, self._back = self._back, []
        for statement in back:
            with contextlib.suppress(Exception):
                self._do(statement, once=True)
        for database in self._databases.values():
            with contextlib.suppress(Exception):
                self._do(f"drop database [{database}]", once=True)
        self._databases.clear()

    def warm(self) -> str:
        """No way to fill the pool but to read."""
        return ""

    def plan(self, sql: str) -> QueryPlan:
        """The plan as text, without estimates."""
        self._do("set showplan_text on")
        try:
            rows = self._all(sql)
        finally:
            self._do("set showplan_text off")
        text = "\n".join(str(row[0]) for row in rows if str(row[0]).lstrip().startswith("|"))
        return QueryPlan(hashlib.sha256(text.encode()).hexdigest()[:12], text)

    def run(self, sql: str) -> QueryRun:
        """Runs a query to the last row. CPU, pages and waits are those of the session."""
        before = self._all(_COUNTERS)[0]
        begun = time.perf_counter()
        rows = self._all(sql)
        seconds = time.perf_counter() - begun
        used = [float(now) - float(then) for now, then in zip(self._all(_COUNTERS)[0], before, strict=True)]
        return QueryRun(
            seconds=seconds,
            rows=plain(rows),
            cpu_s=used[0] / 1000,
            read_bytes=used[1] * _PAGE,
            written_bytes=used[2] * _PAGE,
            wait_s=min(seconds, used[4] / 1000),
            wait_method="derived",
            buffer_bytes=used[3] * _PAGE,
        )

    def profile(self, sql: str) -> PlanNode | None:
        """Not asked for: the server would have to run the query with its profile on."""
        del sql
        return None

    @contextlib.contextmanager
    def _cursor(self) -> Any:
        if self._connection is None:
            raise QueryError("sqlserver is not connected", hint="start it first", code=FAILED)
        cursor = self._connection.cursor()
        try:
            yield cursor
        finally:
            cursor.close()

    def _do(self, sql: str, once: bool = False) -> None:
        self._execute(sql, once, rows=False)

    def _all(self, sql: str, once: bool = False) -> list[Any]:
        return self._execute(sql, once, rows=True)

    def _execute(self, sql: str, once: bool, rows: bool) -> list[Any]:
        """`once` on a connection of its own, outside of any database of ours."""
        connection = self._connector(self._address) if once else self._connection
        if connection is None:
            raise QueryError("sqlserver is not connected", hint="start it first", code=FAILED)
        try:
            cursor = connection.cursor()
            cursor.execute(sql)
            return list(cursor.fetchall()) if rows else []
        except Exception as error:
            words = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise QueryError(f"sqlserver: {words}", hint="the server's own words", code=FAILED) from error
        finally:
            if once:
                connection.close()


class _Rows:
    """A table's file without the delimiter that ends each line."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def __iter__(self) -> Any:
        for line in self._file:
            yield line.rstrip("\n").removesuffix("|") + "\n"
