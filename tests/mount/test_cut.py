"""The power is cut of a drive that is played: what was acknowledged as durable is there, all else may be lost."""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mount.mounted import mounted

_DRIVE = "fixed:400,200,600"

# Commits numbers, and says each after it was told that it is durable.
_WRITER = """
import os, sqlite3, sys
database, journal, level = sys.argv[1:]
connection = sqlite3.connect(database, isolation_level=None)
connection.execute(f"pragma journal_mode={journal}")
connection.execute(f"pragma synchronous={level}")
connection.execute("create table if not exists t (n integer primary key, data blob)")
for n in range(100000):
    connection.execute("insert into t values (?, ?)", (n, os.urandom(300)))
    os.write(1, b"%d\\n" % n)
"""


@contextlib.contextmanager
def writer(database: Path, journal: str, level: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that commits until it is told of an error."""
    command = [sys.executable, "-c", _WRITER, str(database), journal, level]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def found(database: Path) -> tuple[int, str]:
    """How many numbers are there in order from 0 on, and what SQLite says of the file."""
    with contextlib.closing(sqlite3.connect(database)) as connection:
        try:
            numbers = [row[0] for row in connection.execute("select n from t order by n")]
            word = connection.execute("pragma integrity_check").fetchone()[0]
        except sqlite3.DatabaseError as error:
            return 0, str(error)
    return next((n for n, number in enumerate(numbers) if n != number), len(numbers)), word


@pytest.mark.parametrize("journal", ["wal", "delete"])
@pytest.mark.parametrize("seed", range(4))
def test_nothing_that_sqlite_acknowledged_as_durable_is_missing(tmp_path: Path, journal: str, seed: int) -> None:
    with mounted(tmp_path, _DRIVE, seed=seed, cut={"after_requests": 60 + 37 * seed}) as one:
        with writer(tmp_path / "mnt" / "db", journal, "full") as process:
            out, _ = process.communicate(timeout=20)
        assert one.end()["cut"] is not None
    acknowledged = len(out.split())
    assert acknowledged > 0, f"seed {seed}"
    there, word = found(tmp_path / "files" / "db")
    assert word == "ok", f"seed {seed}: {word}"
    assert there >= acknowledged, f"seed {seed}: {acknowledged} were acknowledged, {there} are there"


def test_what_was_never_flushed_is_caught_missing(tmp_path: Path) -> None:
    missing = 0
    for seed in range(3):
        shutil.rmtree(tmp_path / "files", ignore_errors=True)
        with mounted(tmp_path, _DRIVE, seed=seed, cut="on_signal") as one:
            with writer(tmp_path / "mnt" / "db", "wal", "off") as process:
                assert process.stdout is not None
                acknowledged = len([process.stdout.readline() for _ in range(200)])
                os.kill(one.pid, signal.SIGUSR1)
                wait_for_the_cut(tmp_path / "mnt")
            one.end()
        there, word = found(tmp_path / "files" / "db")
        missing += there < acknowledged or word != "ok"
    assert missing, "SQLite without flushes lost nothing in 3 cuts: the cut takes too little"


def wait_for_the_cut(at: Path) -> None:
    """Until nothing is answered any more."""
    for n in range(1000):
        try:
            (at / f"new-{n}").touch()
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return
        time.sleep(0.005)
    pytest.fail("the power is not cut")


def cut_after_writes(tmp_path: Path, what: str, seed: int) -> bytes:
    """Two synced blocks, then the first anew without a flush, then the power; what is there."""
    shutil.rmtree(tmp_path / "files", ignore_errors=True)
    # Ten times slower: the way through FUSE alone may take longer than such a drive.
    with mounted(tmp_path, what, seed=seed, cut="on_signal", slow=10) as one:
        descriptor = os.open(tmp_path / "mnt" / "file", os.O_RDWR | os.O_CREAT | os.O_DIRECT)
        block = mmap.mmap(-1, 8192)
        block.write(b"a" * 8192)
        os.pwrite(descriptor, block, 0)
        os.fsync(descriptor)
        block.seek(0)
        block.write(b"b" * 8192)
        for at in (0, 4096):
            os.pwrite(descriptor, memoryview(block)[:4096], at)
        os.kill(one.pid, signal.SIGUSR1)
        wait_for_the_cut(tmp_path / "mnt")
        with pytest.raises(OSError, match=r".") as failed:
            os.fsync(descriptor)
        assert failed.value.errno == errno.EIO
        with contextlib.suppress(OSError):
            os.close(descriptor)
        one.end()
    return (tmp_path / "files" / "file").read_bytes()


def test_a_drive_without_protection_loses_what_no_flush_covered_and_a_protected_one_nothing(tmp_path: Path) -> None:
    left = [cut_after_writes(tmp_path, "twin:970evoplus", seed) for seed in range(4)]
    assert all(len(one) == 8192 and set(one) <= set(b"ab") for one in left)
    assert any(b"a" in one for one in left)
    assert any(b"b" in one for one in left)
    assert cut_after_writes(tmp_path, "twin:p4610", 1) == b"b" * 8192


@pytest.mark.parametrize("direct", [os.O_DIRECT, 0])
def test_a_write_that_is_to_be_durable_waits_for_a_flush(tmp_path: Path, direct: int) -> None:
    with mounted(tmp_path, "fixed:400,200,2000", cut="on_signal") as one:
        descriptor = os.open(tmp_path / "mnt" / "file", os.O_RDWR | os.O_CREAT | os.O_DSYNC | direct)
        block = mmap.mmap(-1, 4096)
        for n in range(10):
            os.pwrite(descriptor, block, n * 4096)
        os.close(descriptor)
        played = {told["class"]: told for told in one.end()["played"]}
    if direct:
        assert played["writes"]["count"] == 10
        assert played["writes"]["time_p50_ns"] >= 1_900_000, "the kernel sends no flush of its own"
    else:
        assert played["flushes"]["count"] == 10
