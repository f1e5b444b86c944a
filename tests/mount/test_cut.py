"""The power is cut of a drive that is played: what was flushed is there, all else may be lost."""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import shutil
import signal
from pathlib import Path

import pytest

from mount.cutting import wait_for_death
from mount.mounted import mounted


@pytest.mark.parametrize("when", [{"after_requests": 25}, {"after_seconds": 0.5}])
def test_the_power_goes_after_so_many_requests_or_seconds(tmp_path: Path, when: dict[str, float]) -> None:
    with mounted(tmp_path, "fixed:400,200,600", cut=when) as one:
        descriptor = os.open(tmp_path / "mnt" / "file", os.O_RDWR | os.O_CREAT)
        answered = 0
        code = 0
        while not code:
            try:
                os.fsync(descriptor)
                answered += 1
            except OSError as error:
                code = error.errno or -1
        assert code == errno.EIO
        with contextlib.suppress(OSError):
            os.close(descriptor)
        assert one.end()["cut"] is not None
    if "after_requests" in when:
        assert 20 <= answered <= 25


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
        wait_for_death(tmp_path / "mnt")
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
