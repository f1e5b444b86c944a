"""What the tests of `assay index` share."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where results go that nobody named a folder for."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def memory() -> Iterator[Path]:
    """A folder in memory; a run must leave nothing in it but a pool that the test named."""
    base = Path("/dev/shm")
    if not os.access(base, os.W_OK):
        pytest.skip(f"{base} is not there or cannot be written to")
    path = base / f"assay-test-index-{os.getpid()}-{time.monotonic_ns()}"
    path.mkdir()
    try:
        yield path
        left = [one.name for one in path.iterdir() if one.name != "pool"]
        assert not left, f"left behind: {left}"
    finally:
        for one in path.iterdir():
            one.unlink()
        path.rmdir()
