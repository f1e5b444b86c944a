"""A room for every stage; what it leaves behind fails the test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e import places
from e2e.jobs import MIB
from e2e.places import Loop

from .room import Room
from .said import Said


@pytest.fixture(scope="session")
def shared_disk(tmp_path_factory: pytest.TempPathFactory, assayer: Path) -> Iterator[tuple[Loop, Path]]:
    """A disk of its own for all stages that need to know who used it."""
    base = tmp_path_factory.mktemp("lies")
    with places.disk(Path("/dev/shm", f"{base.parent.name}-{base.name}.img"), base / "mnt", 256 * MIB) as disk:
        yield disk


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder to measure, on the disk where the tests run; a run must leave it as it was."""
    path = tmp_path / "measured"
    path.mkdir()
    yield path
    assert not list(path.iterdir()), "something was left behind"


@pytest.fixture
def room(folder: Path, tmp_path: Path, shared_disk: tuple[Loop, Path]) -> Iterator[Room]:
    """Folders and the shared disk; all of them must be as empty as before in the end."""
    spare = tmp_path / "spare"
    spare.mkdir()
    device, place = shared_disk
    yield Room(folder, spare, device, place)
    left = list(place.iterdir())
    assert not left, f"left behind: {left}"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Where to keep what Assay said to each lie (of `pytest tests/lies`)."""
    parser.addoption("--said", metavar="FILE", help="keep what Assay said to each lie in this file, as JSON")
    parser.addoption("--cells", metavar="NUMBER", help="how many honest cells to run")


@pytest.fixture(scope="session")
def said(request: pytest.FixtureRequest) -> Iterator[Said]:
    """Takes what Assay said; written at the end where somebody asked for it."""
    taken = Said()
    yield taken
    file = request.config.getoption("--said", default=None)
    if file is not None:
        taken.write(Path(file))
