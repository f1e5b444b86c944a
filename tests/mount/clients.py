"""Databases in a process of their own that writes a line for each number that it was told is durable."""

from __future__ import annotations

import contextlib
import importlib.util
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from mount.cutting import Left, Victim, Worker

_SQLITE = """
import os, sqlite3, sys
file, journal, level = sys.argv[1:]
connection = sqlite3.connect(file + "/db", isolation_level=None)
connection.execute(f"pragma journal_mode={journal}")
connection.execute(f"pragma synchronous={level}")
connection.execute("create table if not exists t (n integer primary key, data blob)")
for n in range(100000):
    connection.execute("insert into t values (?, ?)", (n, n.to_bytes(4, "big") * 75))
    os.write(1, b"%d\\n" % n)
"""
_LMDB = """
import os, lmdb, sys
durable = sys.argv[2] == "full"
with lmdb.open(sys.argv[1] + "/db", map_size=1 << 26, sync=durable, metasync=durable) as there:
    for n in range(100000):
        with there.begin(write=True) as transaction:
            transaction.put(n.to_bytes(4, "big"), n.to_bytes(4, "big") * 75)
        os.write(1, b"%d\\n" % n)
"""
# In a process of its own: pages of a mapped file that are not what they should be may end it.
_LMDB_LEFT = """
import lmdb, sys
with lmdb.open(sys.argv[1] + "/db", readonly=True, lock=False) as there, there.begin() as transaction:
    wanted = 0
    for key, data in transaction.cursor():
        if key != wanted.to_bytes(4, "big") or data != key * 75:
            break
        wanted += 1
    print(wanted)
"""


class Lines(Worker):
    """A process whose lines are counted."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process, self._count = process, 0
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._count += line.endswith("\n")

    def acknowledged(self) -> int:
        return self._count

    def failed(self) -> str:
        return "" if self._process.poll() is None else f"it ended with exit code {self._process.returncode}"

    def end(self) -> None:
        """Kills it, and reads all that it had said."""
        self._process.kill()
        self._process.wait()
        self._thread.join()
        assert self._process.stdout is not None
        self._process.stdout.close()


@contextlib.contextmanager
def lines_of(program: str, *words: str) -> Iterator[Lines]:
    """A program in Python, meanwhile."""
    command = [sys.executable, "-c", program, *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    worker = Lines(process)
    try:
        yield worker
    finally:
        worker.end()


class Sqlite(Victim):
    """SQLite, with one of its journals."""

    def __init__(self, journal: str) -> None:
        self.name, self._journal = f"sqlite {journal}", journal

    def working(self, room: Path, *, durable: bool) -> contextlib.AbstractContextManager[Worker]:
        return lines_of(_SQLITE, str(room / "mnt"), self._journal, "full" if durable else "off")

    def left(self, room: Path, acknowledged: int) -> Left:
        there, word = self._found(room / "files" / "db")
        return Left(acknowledged, max(0, acknowledged - there), "" if word == "ok" else word)

    def _found(self, file: Path) -> tuple[int, str]:
        with contextlib.closing(sqlite3.connect(file)) as connection:
            try:
                rows = connection.execute("select n, data from t order by n").fetchall()
                word = str(connection.execute("pragma integrity_check").fetchone()[0])
            except sqlite3.DatabaseError as error:
                return 0, str(error)
        wrong = (n for n, row in enumerate(rows) if row != (n, n.to_bytes(4, "big") * 75))
        return next(wrong, len(rows)), word


class Lmdb(Victim):
    """LMDB as Python has it."""

    name = "lmdb (python)"

    def reason(self) -> str:
        there = importlib.util.find_spec("lmdb") is not None
        return "" if there else "the package lmdb is not installed (setup/requirements-test.lock)"

    def working(self, room: Path, *, durable: bool) -> contextlib.AbstractContextManager[Worker]:
        return lines_of(_LMDB, str(room / "mnt"), "full" if durable else "off")

    def left(self, room: Path, acknowledged: int) -> Left:
        command = [sys.executable, "-c", _LMDB_LEFT, str(room / "files")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            said = (done.stderr.strip().splitlines() or [f"it ended with exit code {done.returncode}"])[-1]
            return Left(acknowledged, acknowledged, said)
        return Left(acknowledged, max(0, acknowledged - int(done.stdout)))
