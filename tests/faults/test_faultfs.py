"""The file system that fails does what it is told."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from .faultfs import FaultFs, mounted

_DATA = bytes(range(256)) * 64


@pytest.fixture
def fs(tmp_path: Path) -> Iterator[FaultFs]:
    with mounted(tmp_path / "mnt") as one:
        yield one


def test_without_a_rule_it_is_a_file_system(fs: FaultFs) -> None:
    (fs.at / "folder").mkdir()
    (fs.at / "folder" / "file").write_bytes(_DATA)
    (fs.at / "folder" / "file").rename(fs.at / "moved")
    assert (fs.at / "moved").read_bytes() == _DATA
    assert sorted(path.name for path in fs.at.iterdir()) == ["folder", "moved"]
    (fs.at / "folder").rmdir()
    (fs.at / "moved").unlink()
    assert os.statvfs(fs.at).f_bavail == os.statvfs(fs.at).f_blocks


@pytest.mark.parametrize("fault", ["eio", "enospc", "edquot"])
def test_the_call_that_a_rule_names_fails_and_the_others_do_not(fs: FaultFs, fault: str) -> None:
    fs.rule("write", fault, "from=2", "count=1", "name=log")
    with (fs.at / "log").open("wb", buffering=0) as log:
        assert log.write(_DATA) == len(_DATA)
        with pytest.raises(OSError, match=r".") as failed:
            log.write(_DATA)
        assert failed.value.errno == getattr(errno, fault.upper())
        assert log.write(_DATA) == len(_DATA)
    assert fs.calls()["hits"] == 1


def test_a_short_write_and_a_short_read_are_short(fs: FaultFs) -> None:
    fs.rule("write", "short", "count=1")
    fs.rule("read", "short", "from=2")
    descriptor = os.open(fs.at / "file", os.O_RDWR | os.O_CREAT)
    try:
        assert os.write(descriptor, _DATA) == len(_DATA) // 2
        assert os.pwrite(descriptor, _DATA, 0) == len(_DATA)
        assert os.pread(descriptor, len(_DATA), 0) == _DATA
        assert os.pread(descriptor, len(_DATA), 0) == _DATA[: len(_DATA) // 2]
    finally:
        os.close(descriptor)


def test_a_crash_keeps_what_was_synced_unless_the_sync_lied(fs: FaultFs) -> None:
    descriptor = os.open(fs.at / "file", os.O_RDWR | os.O_CREAT)
    os.write(descriptor, b"a" * 5000)
    os.fsync(descriptor)
    os.write(descriptor, b"b" * 5000)
    fs.rule("sync", "lie")
    os.fdatasync(descriptor)
    os.close(descriptor)
    assert (fs.at / "file").read_bytes() == b"a" * 5000 + b"b" * 5000
    fs.crash()
    assert (fs.at / "file").read_bytes() == b"a" * 5000


def test_a_sync_that_failed_is_not_mended_by_the_next(fs: FaultFs) -> None:
    descriptor = os.open(fs.at / "file", os.O_RDWR | os.O_CREAT)
    os.write(descriptor, b"a" * 5000)
    os.fsync(descriptor)
    os.pwrite(descriptor, b"b" * 5000, 0)
    fs.rule("sync", "eio", "count=1")
    with pytest.raises(OSError, match=r"\[Errno 5\]"):
        os.fsync(descriptor)
    os.fsync(descriptor)
    os.close(descriptor)
    fs.crash()
    assert (fs.at / "file").read_bytes() == b"a" * 5000


def test_a_file_system_that_is_full_says_so(fs: FaultFs) -> None:
    fs.tell("space 8192")
    with pytest.raises(OSError, match=r"\[Errno 28\]"):
        (fs.at / "file").write_bytes(_DATA)
    (fs.at / "file").unlink()
    (fs.at / "file").write_bytes(_DATA[:8192])


def test_one_that_answers_slowly_is_ended_all_the_same(tmp_path: Path) -> None:
    with mounted(tmp_path / "slow") as fs:
        fs.rule("sync", "slow:50")
        with (fs.at / "file").open("wb") as file:
            os.fsync(file.fileno())
        assert fs.calls()["hits"] == 1
    assert not (tmp_path / "slow").exists()
