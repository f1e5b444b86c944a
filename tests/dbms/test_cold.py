"""Files that were cleared are not in the page cache; files in memory cannot be."""

import mmap
from pathlib import Path

import pytest
from assay.dbms import cold


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    path.write_bytes(bytes(range(256)) * 4096)
    return path


def in_memory(path: Path) -> bool:
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    best = max((m for m in mounts if path.is_relative_to(m[1])), key=lambda m: len(m[1]))
    return best[2] in cold.IN_MEMORY


def test_what_was_written_is_resident_and_is_gone_when_cleared(file: Path) -> None:
    if in_memory(file):
        pytest.skip("the folder for tests lies in memory: nothing can be cleared there")
    assert cold.resident(file) == file.stat().st_size
    cleared = cold.clear([file.parent])
    assert cleared.resident_before == cleared.bytes == file.stat().st_size
    assert cleared.resident_after == cold.resident(file) == 0


def test_a_read_brings_pages_back(file: Path) -> None:
    if in_memory(file):
        pytest.skip("the folder for tests lies in memory: nothing can be cleared there")
    cold.clear([file])
    with file.open("rb") as opened:
        opened.read(1)
    assert 0 < cold.resident(file) <= file.stat().st_size


def test_pages_that_somebody_has_mapped_stay_and_that_is_an_error(file: Path) -> None:
    if in_memory(file):
        pytest.skip("the folder for tests lies in memory: nothing can be cleared there")
    with file.open("r+b") as opened, mmap.mmap(opened.fileno(), 0) as mapped:
        assert sum(mapped[place] for place in range(0, len(mapped), mmap.PAGESIZE)) >= 0
        with pytest.raises(cold.ColdError, match="stay in the page cache"):
            cold.clear([file])


def test_files_in_memory_are_resident_whatever_is_done() -> None:
    place = Path("/dev/shm")
    if not place.is_dir() or not in_memory(place / "x"):
        pytest.skip("/dev/shm is no tmpfs here")
    path = place / f"assay-test-cold-{id(place)}"
    try:
        path.write_bytes(b"x" * 8192)
        with pytest.raises(cold.ColdError):
            cold.clear([path])
    finally:
        path.unlink(missing_ok=True)


def test_an_empty_file_is_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert cold.clear([tmp_path]).bytes == 0
