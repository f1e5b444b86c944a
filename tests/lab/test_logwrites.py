"""Logs of writes are read to their end, and damaged ones are refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from assay_lab import logwrites
from assay_lab.logwrites import DISCARD, FLUSH, FUA, HEADER, MARK, LogError
from hypothesis import given, settings
from hypothesis import strategies as some

from .writelog import BYTES, SECTOR, SECTORS, Did, discard, flush, save, superblock, write

ROW = [write(0, 2, 1), flush(), write(4, 1, 2, fua=True), discard(8, 4), write(0, 1, 3)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log"


def seen(log: logwrites.Log) -> list[tuple[int, int, int]]:
    return [(entry.sector, entry.sectors, entry.flags) for entry in log.entries]


def test_entries_come_in_order_with_their_flags(path: Path) -> None:
    log = logwrites.read(save(path, ROW), BYTES)
    assert seen(log) == [(0, 2, 0), (0, 0, FLUSH), (4, 1, FUA), (8, 4, DISCARD), (0, 1, 0)]
    assert (log.flushed, log.flushes, log.holes, log.unfinished) == (2, 1, 0, False)
    assert path.read_bytes()[log.entries[4].data_at :][:SECTOR] == ROW[4].data(0)


@pytest.mark.parametrize("counted", [0, 1, 4, 5, 900], ids=str)
def test_the_superblocks_count_is_not_believed(path: Path, counted: int) -> None:
    assert len(logwrites.read(save(path, ROW, counted), BYTES).entries) == len(ROW)


def test_a_log_without_a_superblock_yet_is_read(path: Path) -> None:
    path.write_bytes(bytes(SECTOR) + write(3, 1, 1).packed())
    assert seen(logwrites.read(path, BYTES)) == [(3, 1, 0)]


def test_an_empty_log_has_no_entries(path: Path) -> None:
    for content in (b"", superblock(0), bytes(10)):
        path.write_bytes(content)
        log = logwrites.read(path, BYTES)
        assert (log.entries, log.flushed, log.unfinished) == ([], 0, False)


def test_flushes_after_a_hole_are_found(path: Path) -> None:
    row = [write(0, 2, 1), Did(4, 3, 0, 2, hole=True), write(9, 1, 3), flush(), Did(1, 1, 0, 4, hole=True)]
    log = logwrites.read(save(path, row), BYTES)
    assert seen(log) == [(0, 2, 0), (9, 1, 0), (0, 0, FLUSH)]
    assert (log.flushed, log.holes) == (3, 1)


def test_an_entry_that_is_cut_off_is_left_out(path: Path) -> None:
    whole = save(path, ROW).read_bytes()
    for cut in (1, SECTOR - 1, SECTOR, SECTOR + 1, SECTOR + 200):
        path.write_bytes(whole[:-cut])
        log = logwrites.read(path, BYTES)
        assert seen(log) == [(0, 2, 0), (0, 0, FLUSH), (4, 1, FUA), (8, 4, DISCARD)], cut
        assert log.unfinished or cut >= 2 * SECTOR


def test_other_sector_sizes_are_read(path: Path) -> None:
    header = HEADER.pack(1, 1, 0, 0).ljust(4096, b"\0")
    path.write_bytes(superblock(1, 4096).ljust(4096, b"\0") + header + b"x" * 4096)
    log = logwrites.read(path, 1 << 20)
    assert (log.sector_bytes, seen(log)) == (4096, [(1, 1, 0)])


def test_marks_are_passed_over(path: Path) -> None:
    mark = (HEADER.pack(0, 0, MARK, 5) + b"hello").ljust(SECTOR, b"\0")
    path.write_bytes(superblock(2) + mark + write(3, 1, 1).packed())
    assert seen(logwrites.read(path, BYTES)) == [(0, 0, MARK), (3, 1, 0)]


DEFECTS = {
    "magic": (0, b"\x01", "not with"),
    "version": (8, b"\x02", "version 2"),
    "sector size": (24, b"\x01\x02", "sectors have 513 bytes"),
    "flags": (SECTOR + 16, b"\x40", "its flags are 0x40"),
    "text": (SECTOR + 24, b"\x01", "1 bytes of text"),
    "beyond the drive": (SECTOR, bytes([SECTORS]), "beyond the drive"),
    "nothing": (SECTOR, b"\x01" + bytes(15), "a write of nothing"),
    "bytes after the header": (SECTOR + 100, b"\x01", "followed by other bytes"),
}


@pytest.mark.parametrize("defect", DEFECTS, ids=str)
def test_each_defect_is_a_sentence(path: Path, defect: str) -> None:
    at, wrong, said = DEFECTS[defect]
    data = bytearray(save(path, ROW).read_bytes())
    data[at : at + len(wrong)] = wrong
    path.write_bytes(data)
    with pytest.raises(LogError, match=said) as caught:
        logwrites.read(path, BYTES)
    assert str(path) in caught.value.message


def test_a_write_zeroes_command_that_overlaps_another_write_is_refused(path: Path) -> None:
    # QEMU gives the zeros their place in the log only after the header is written: another entry may come between.
    zeroes = HEADER.pack(0, 2, 0, 0).ljust(SECTOR, b"\0")
    between = write(9, 4, 1).packed()
    path.write_bytes(superblock(2) + zeroes + between + bytes(2 * SECTOR))
    with pytest.raises(LogError) as caught:
        logwrites.read(path, BYTES)
    assert "write zeroes" in caught.value.hint


def test_a_log_that_is_missing_is_a_sentence(path: Path) -> None:
    with pytest.raises(LogError, match="No such file"):
        logwrites.read(path, BYTES)


@settings(max_examples=300, deadline=None)
@given(
    changes=some.lists(some.tuples(some.integers(0, 12 * SECTOR), some.binary(min_size=1, max_size=16)), max_size=6),
    length=some.integers(0, 12 * SECTOR),
)
def test_damage_is_refused_or_read_and_never_more(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, bytes]], length: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged"
    data = bytearray(save(path, ROW).read_bytes())
    for at, wrong in changes:
        data[at : at + len(wrong)] = wrong
    path.write_bytes(data[: max(length, 40)])
    try:
        log = logwrites.read(path, BYTES)
    except LogError:
        return
    for entry in log.entries:
        assert (entry.sector + entry.sectors) * log.sector_bytes <= BYTES
        assert not entry.writes or entry.data_at + entry.sectors * log.sector_bytes <= path.stat().st_size
