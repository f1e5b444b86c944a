"""Places for the end-to-end tests. Every one looks at its end whether something was left behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from . import places
from .places import Loop

MIB = 1 << 20


@pytest.fixture(autouse=True)
def _built(assayer: Path) -> None:
    """Without the measuring program there is nothing to drive."""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder to measure, on the disk where the tests run; a run must leave it as it was."""
    path = tmp_path / "measured"
    path.mkdir()
    yield path
    assert not list(path.iterdir()), "something was left behind"


@pytest.fixture(scope="session")
def _own_disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Loop, Path]]:
    base = tmp_path_factory.mktemp("disk")
    memory = Path("/dev/shm")
    image = (memory if memory.is_dir() else base) / f"{base.parent.name}-{base.name}.img"
    with places.disk(image, base / "mnt", 256 * MIB) as disk:
        yield disk


@pytest.fixture
def own_disk(_own_disk: tuple[Loop, Path]) -> Iterator[tuple[Loop, Path]]:
    """A disk of its own, mounted: what its counters show is the run's and what the test adds."""
    yield _own_disk
    left = list(_own_disk[1].iterdir())
    assert not left, "something was left behind"
