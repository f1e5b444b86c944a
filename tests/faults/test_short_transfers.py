"""A short transfer is gone on with where it stopped, by every path; known: where the kernel does so itself, wrongly."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from .faultfs import FaultFs, mounted, moved

_SHORT = [(operation, how) for operation in ("write", "read") for how in ("short", "ragged count=1")]


@pytest.fixture
def fs(tmp_path: Path) -> Iterator[FaultFs]:
    with mounted(tmp_path / "mnt") as one:
        (one.at / "file").write_bytes(bytes(128 << 10))
        yield one


@pytest.mark.parametrize("way", ["pread buffered", "pread direct", "libaio buffered", "libaio direct"])
@pytest.mark.parametrize(("operation", "how"), _SHORT)
def test_what_a_short_transfer_left_over_goes_to_its_place(fs: FaultFs, way: str, operation: str, how: str) -> None:
    fs.rule(operation, *how.split())
    assert moved(fs, way) == "whole"
    assert fs.calls()["hits"] > 0


@pytest.mark.parametrize("way", ["buffered", "direct"])
@pytest.mark.parametrize(("operation", "how"), _SHORT)
def test_io_uring_moves_wrongly_only_what_the_kernel_moves_wrongly(
    fs: FaultFs, way: str, operation: str, how: str
) -> None:
    """One operation of `io_uring` without any code of Assay's: the kernel goes on by itself with what it was cut short
    of, at the first byte's place again, and reports all of it as moved."""
    fs.rule(operation, *how.split())
    bare = moved(fs, f"kernel {way}")
    fs.clear()
    fs.rule(operation, *how.split())
    ours = moved(fs, f"io_uring {way}")
    if "wrong place" not in bare:
        assert ours == "whole"
    else:
        assert ours == bare, "what the kernel reports as whole cannot be seen from here"


def test_an_index_on_io_uring_is_damaged_only_where_the_kernel_damages(tmp_path: Path) -> None:
    """`ssd-btree` with `write short from=1,5,8`: seen as a pool that begins with zeros."""
    from .cases import CASES

    for first in (1, 5, 8):
        with mounted(tmp_path / "mnt") as fs:
            (fs.at / "file").write_bytes(bytes(128 << 10))
            fs.rule("write", "short")
            bare = moved(fs, "kernel direct")
            fs.clear()
            (fs.at / "file").unlink()
            fs.rule("write", "short", f"from={first}")
            done: subprocess.CompletedProcess[str] = CASES["index ssd-btree"].run(fs.at)
        if "wrong place" not in bare:
            assert done.returncode == 0, done.stdout + done.stderr
        else:
            assert "Traceback" not in done.stderr
            assert "panicked" not in done.stderr
