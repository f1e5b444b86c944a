"""Control groups that hold their members back: CPU, memory, and a freezer."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from . import places

ROOT = Path("/sys/fs/cgroup")
UNIFIED = (ROOT / "cgroup.controllers").exists()


@contextlib.contextmanager
def group(controller: str) -> Iterator[Path]:
    """An empty control group of a controller; its members are let out at the end."""
    places.privileged("control groups")
    parent = ROOT if UNIFIED else ROOT / controller
    if not (parent / "cgroup.procs").exists():
        pytest.skip(f"the kernel has no control group for {controller}")
    made = parent / f"assay-{controller}-{os.getpid()}"
    made.mkdir()
    try:
        yield made
    finally:
        places.leave(made, parent)


def put(made: Path, value: str, *files: str) -> None:
    """Writes a setting to the first of these files that the group has; the test is skipped where it has none."""
    there = [made / name for name in files if (made / name).exists()]
    if not there:
        pytest.skip(f"control groups here have none of {', '.join(files)}")
    there[0].write_text(value)


@contextlib.contextmanager
def cpu_quota(share: float) -> Iterator[Path]:
    """A control group that may use this share of a CPU."""
    period = 20_000
    with group("cpu") as made:
        if not (made / "cpu.max").exists():
            put(made, str(period), "cpu.cfs_period_us")
        quota = str(int(share * period))
        put(made, f"{quota} {period}" if (made / "cpu.max").exists() else quota, "cpu.max", "cpu.cfs_quota_us")
        yield made


@contextlib.contextmanager
def memory_limit(size: int) -> Iterator[Path]:
    """A control group that may have so many bytes of memory, its page cache included."""
    with group("memory") as made:
        put(made, str(size), "memory.max", "memory.limit_in_bytes")
        yield made


@contextlib.contextmanager
def freezer() -> Iterator[Path]:
    """A control group that can be frozen; what was frozen is let go at the end."""
    with group("freezer") as made:
        try:
            yield made
        finally:
            freeze(made, frozen=False)


def freeze(made: Path, *, frozen: bool) -> None:
    """Freezes the members of a control group, or lets them go."""
    if (made / "freezer.state").exists():
        (made / "freezer.state").write_text("FROZEN" if frozen else "THAWED")
    else:
        put(made, "1" if frozen else "0", "cgroup.freeze")
