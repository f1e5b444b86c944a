"""DuckDB and SQLite: databases that live in the process that asks, and in one file."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import select
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from assay.dbms.tpch import dialect as dialects
from assay.dbms.tpch.data import Files
from assay.dbms.tpch.engine import Loaded, PlanNode, QueryPlan, QueryRun
from assay.dbms.tpch.schema import INDEXES, TABLES, index_name
from assay.error import FAILED, AssayError
from assay.untyped import Json

HOUR_S = 3600.0


class EngineError(AssayError):
    """An engine failed, or gave up."""


class QueryError(EngineError):
    """One query failed; others may still run."""


class Embedded:
    """What both share: a worker process that has the file open."""

    name = ""
    file = ""
    version = ""

    def __init__(self, workers: int, temp: Path | None = None, limit_s: float = HOUR_S) -> None:
        self.workers = workers
        self.temp = temp
        self.limit_s = limit_s
        self._process: subprocess.Popen[bytes] | None = None
        self._open = False

    def options(self) -> Json:
        """What the worker opens the database with."""
        raise NotImplementedError

    def settings(self) -> Json:
        """For the record."""
        return {**self.options(), "temporary_files": "own target" if self.temp else "beside the data"}

    def folders(self, folder: Path) -> Sequence[Path]:
        """The file is all."""
        return [folder]

    def start(self, folder: Path) -> None:
        """Opens the file of a folder, with nothing of it in memory of its own."""
        self.stop()
        file = folder / self.file
        if not file.is_file():
            raise EngineError(f"{file} is missing", hint="load it again: the data folder is damaged", code=FAILED)
        if self._process is None:
            self._process = self._worker(str(self.temp or folder))
        self._ask({"do": "open", "file": str(file)})
        self._open = True

    def _worker(self, temp: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "assay.dbms.tpch.worker", self.name, json.dumps(self.options())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, "SQLITE_TMPDIR": temp, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )

    def stop(self) -> None:
        """Closes the file. The worker stays: it has nothing of the file any more."""
        if self._open and self._process is not None:
            self._open = False
            self._ask({"do": "close"})

    def kill(self) -> None:
        """Ends the worker at once."""
        process, self._process, self._open = self._process, None, False
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def copy(self, source: Path, folder: Path) -> None:
        """The file in another folder, durable."""
        shutil.copyfile(source / self.file, folder / self.file)
        handle = os.open(folder / self.file, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)

    def close(self) -> None:
        """Ends the worker; the folders are the caller's."""
        self.kill()

    def warm(self) -> str:
        """No buffer that could be filled by itself."""
        return ""

    def plan(self, sql: str) -> QueryPlan:
        """The plan; its hash is of its operators and tables."""
        text = str(self._ask({"do": "plan", "sql": sql})["text"])
        return QueryPlan(hashlib.sha256(text.encode()).hexdigest()[:12], text)

    def run(self, sql: str) -> QueryRun:
        """Runs a query to the last row."""
        found = self._ask({"do": "run", "sql": sql}, self.limit_s)
        if found["seconds"] > self.limit_s:
            # Whoever waits for it was off the CPU at the limit, and saw the answer first.
            raise self._late(self.limit_s)
        return QueryRun(
            seconds=found["seconds"],
            rows=[tuple(row) for row in found["rows"]],
            cpu_s=found["cpu_s"],
            read_bytes=found["read_bytes"],
            written_bytes=found["written_bytes"],
            wait_s=found["wait_s"],
            extra={"queued_s": found["queued_s"]},
        )

    def profile(self, sql: str) -> PlanNode | None:
        """The dominating operator."""
        found = self._ask({"do": "profile", "sql": sql}, self.limit_s)
        return PlanNode(found["name"], found["share"], found["pattern"]) if found else None

    def _ask(self, question: Json, limit_s: float = HOUR_S) -> Json:
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise EngineError(f"{self.name} is not running", hint="start it first", code=FAILED)
        try:
            process.stdin.write(json.dumps(question).encode() + b"\n")
            process.stdin.flush()
        except BrokenPipeError as error:
            raise self._died(process) from error
        if not select.select([process.stdout], [], [], limit_s)[0]:
            self.kill()
            raise self._late(limit_s)
        line = process.stdout.readline()
        if not line:
            raise self._died(process)
        found: Json = json.loads(line)
        if "error" in found:
            raise QueryError(f"{self.name}: {found['error']}", hint="the engine's own words", code=FAILED)
        return found

    def _late(self, limit_s: float) -> QueryError:
        message = f"{self.name} gave no answer within {limit_s:g} s"
        return QueryError(message, hint="give it more time: --limit", code=FAILED)

    def _died(self, process: subprocess.Popen[bytes]) -> EngineError:
        self.kill()
        code = process.returncode
        how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        hint = "look whether memory ran out (dmesg), then run it again"
        return EngineError(f"{self.name} {how} in the middle of the run", hint=hint, code=FAILED)


class DuckDB(Embedded):
    """DuckDB: columns, vectors, all CPUs."""

    name = "duckdb"
    file = "tpch.duckdb"
    dialect = dialects.DUCKDB

    def __init__(self, workers: int, temp: Path | None = None, limit_s: float = HOUR_S) -> None:
        import duckdb

        super().__init__(workers, temp, limit_s)
        self.version = str(duckdb.__version__)

    def options(self) -> Json:
        """Threads, no network, temporary files where they were wanted."""
        found: Json = {"threads": self.workers, "autoinstall_known_extensions": False}
        return found | ({"temp_directory": str(self.temp)} if self.temp else {})

    def settings(self) -> Json:
        """Without the place of temporary files, which a target names."""
        return {key: value for key, value in super().settings().items() if key != "temp_directory"}

    def load(self, files: Files, folder: Path) -> Loaded:
        """Reads the files into one database file."""
        import duckdb

        seconds: dict[str, float] = {}
        database = str(folder / self.file)
        with _interruptible(), contextlib.closing(duckdb.connect(database, config=self.options())) as connection:
            with timed(seconds, "copy"):
                for table in TABLES:
                    connection.execute(dialects.DUCKDB.create(table))
                    kinds = {column.name: "varchar" for column in table.columns} | {"nothing": "varchar"}
                    columns = ", ".join(column.name for column in table.columns)
                    source = f"read_csv(?, delim='|', header=false, quote='', escape='', columns={kinds})"
                    # Names come from the table above and go nowhere else.
                    statement = f"insert into {table.name} select {columns} from {source}"  # noqa: S608
                    connection.execute(statement, [str(files.table(table.name))])
            with timed(seconds, "checkpoint"):
                connection.execute("checkpoint")
        return Loaded(seconds, (folder / self.file).stat().st_size)


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """DuckDB answers a signal in mid-statement with an error of its own; it is an interrupt like any other."""
    try:
        yield
    except RuntimeError as error:
        if "interrupted" not in str(error):
            raise
        raise KeyboardInterrupt from error


class SQLite(Embedded):
    """SQLite: rows in B-trees, one thread."""

    name = "sqlite"
    file = "tpch.sqlite"
    dialect = dialects.SQLITE
    version = sqlite3.sqlite_version

    def __init__(self, workers: int, temp: Path | None = None, limit_s: float = HOUR_S) -> None:
        del workers  # A query runs in one thread.
        super().__init__(1, temp, limit_s)

    def options(self) -> Json:
        """A page cache of 64 MiB, reads by system calls, no write-ahead log in a read-only run."""
        return {"cache_size": -65536, "mmap_size": 0, "temp_store": 1, "query_only": 1}

    def load(self, files: Files, folder: Path) -> Loaded:
        """Inserts the rows, then makes the indexes."""
        seconds: dict[str, float] = {}
        with contextlib.closing(sqlite3.connect(folder / self.file, isolation_level=None)) as connection:
            # Nobody needs half a load: a failure removes the folder.
            for pragma in ("journal_mode = off", "synchronous = off", "page_size = 4096", "cache_size = -65536"):
                connection.execute(f"pragma {pragma}")
            connection.execute("begin")
            with timed(seconds, "copy"):
                for table in TABLES:
                    connection.execute(dialects.SQLITE.create(table, keyed=True))
                    places = ", ".join("?" for _ in table.columns)
                    statement = f"insert into {table.name} values ({places})"  # noqa: S608
                    connection.executemany(statement, _lines(files.table(table.name)))
            with timed(seconds, "indexes"):
                for name, columns in INDEXES:
                    connection.execute(f"create index {index_name(name, columns)} on {name} ({columns})")
            with timed(seconds, "analyze"):
                connection.execute("analyze")
                connection.execute("commit")
        return Loaded(seconds, (folder / self.file).stat().st_size)


def _lines(path: Path) -> Iterator[list[str]]:
    with path.open(encoding="ascii") as file:
        for line in file:
            yield line.rstrip("\n").removesuffix("|").split("|")


@contextlib.contextmanager
def timed(seconds: dict[str, float], phase: str) -> Iterator[None]:
    """Adds the time that a phase took, s."""
    begun = time.monotonic()
    yield
    seconds[phase] = seconds.get(phase, 0.0) + time.monotonic() - begun
