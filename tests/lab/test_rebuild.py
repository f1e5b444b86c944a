"""What a drive holds after a power cut: all that was flushed, and of the rest what a cache may keep."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path

import pytest
from assay_lab import logwrites
from assay_lab.error import LabError
from assay_lab.logwrites import DISCARD, FLUSH, FUA
from assay_lab.rebuild import KEEPS_ALL, KEEPS_NOTHING, Cache, Fates, copy_sparse, rebuild
from hypothesis import given, settings
from hypothesis import strategies as some

from .writelog import BYTES, SECTOR, SECTORS, Did, discard, flush, save, write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def remade(folder: Path, did: list[Did], seed: int = 1, cache: Cache | None = None) -> tuple[list[bytes], Fates]:
    """The drive's sectors."""
    log = logwrites.read(save(folder / "log", did), BYTES)
    fates = rebuild(log, folder / "drive", BYTES, seed, cache)
    content = (folder / "drive").read_bytes()
    assert len(content) == BYTES
    return [content[at : at + SECTOR] for at in range(0, BYTES, SECTOR)], fates


def allowed(did: list[Did]) -> list[set[bytes]]:
    """What each sector may hold: its last durable content, or that of any later write."""
    flushed = max((at for at, one in enumerate(did) if one.flags & FLUSH and not one.hole), default=-1)
    states = [{bytes(SECTOR)} for _ in range(SECTORS)]
    for at, one in enumerate(did):
        for sector in range(one.sector, one.sector + one.sectors):
            if one.hole:
                continue
            if at < flushed or one.flags & FUA:
                states[sector] = {one.data(sector)}
            else:
                states[sector].add(one.data(sector))
    return states


def test_what_was_flushed_is_there_and_nothing_else_need_be(folder: Path) -> None:
    did = [write(0, 4, 1), flush(), write(2, 4, 2), write(8, 1, 3, fua=True), write(2, 1, 4)]
    sectors, fates = remade(folder, did, cache=KEEPS_NOTHING)
    assert sectors[:4] == [did[0].data(at) for at in range(4)]
    assert sectors[8] == did[3].data(8)
    assert sectors[4] == bytes(SECTOR)
    assert (fates.durable, fates.survived, fates.torn, fates.lost) == (2, 0, 0, 2)


def test_a_full_cache_keeps_everything(folder: Path) -> None:
    did = [write(0, 4, 1), flush(), write(2, 4, 2), discard(0, 1), write(2, 1, 4)]
    sectors, fates = remade(folder, did, cache=KEEPS_ALL)
    assert sectors[0] == bytes(SECTOR)
    assert sectors[1:3] == [did[0].data(1), did[4].data(2)]
    assert sectors[3] == did[1 + 1].data(3)
    assert (fates.durable, fates.survived, fates.lost) == (1, 3, 0)


def test_a_write_that_asks_for_a_flush_is_not_flushed_by_it(folder: Path) -> None:
    both = Did(4, 1, FLUSH, 2)
    sectors, _ = remade(folder, [write(0, 1, 1), both], cache=KEEPS_NOTHING)
    assert sectors[0] == write(0, 1, 1).data(0)
    assert sectors[4] == bytes(SECTOR)
    sectors, _ = remade(folder, [write(0, 1, 1), Did(4, 1, FLUSH | FUA, 2)], cache=KEEPS_NOTHING)
    assert sectors[4] == Did(4, 1, FLUSH | FUA, 2).data(4)


def test_a_later_write_may_be_lost_and_leave_an_earlier_one(folder: Path) -> None:
    did = [write(0, 1, 1), write(0, 1, 2), write(0, 1, 3)]
    found = {remade(folder, did, seed, Cache(0.5, 0.0))[0][0] for seed in range(60)}
    assert found == {bytes(SECTOR), *(one.data(0) for one in did)}


def test_torn_writes_leave_any_of_their_sectors(folder: Path) -> None:
    found = {tuple(map(any, remade(folder, [write(0, 3, 1)], seed, Cache(0.0, 1.0))[0][:3])) for seed in range(100)}
    assert len(found) == 8


def test_the_same_seed_makes_the_same_state_and_others_do_not(folder: Path) -> None:
    did = [write(at % 20, 4, at) for at in range(200)]
    digests = [hashlib.sha256(b"".join(remade(folder, did, seed)[0])).digest() for seed in (1, 1, 2, 3, 4)]
    assert digests[0] == digests[1]
    assert len(set(digests)) > 2


def test_the_old_file_stays_where_the_log_cannot_be_read(folder: Path) -> None:
    log = logwrites.read(save(folder / "log", [write(0, 1, 1)]), BYTES)
    (folder / "drive").write_bytes(b"old")
    (folder / "log").unlink()
    with pytest.raises(LabError, match="cannot be made anew"):
        rebuild(log, folder / "drive", BYTES, 1)
    assert (folder / "drive").read_bytes() == b"old"
    assert [path.name for path in folder.iterdir()] == ["drive"]


def test_a_second_log_goes_on_from_what_was_there(folder: Path) -> None:
    first, _ = remade(folder, [write(0, 4, 1), flush()], cache=KEEPS_NOTHING)
    copy_sparse(folder / "drive", folder / "before")
    did = [write(2, 1, 2), flush(), write(3, 1, 3)]
    log = logwrites.read(save(folder / "second", did), BYTES)
    rebuild(log, folder / "drive", BYTES, 1, KEEPS_NOTHING, base=folder / "before")
    content = (folder / "drive").read_bytes()
    sectors = [content[at : at + SECTOR] for at in range(0, BYTES, SECTOR)]
    assert len(content) == BYTES
    assert sectors == [*first[:2], did[0].data(2), *first[3:]]


@given(pieces=some.lists(some.tuples(some.integers(0, 63), some.binary(min_size=1, max_size=9000)), max_size=8))
@settings(max_examples=40, deadline=None)
def test_a_sparse_copy_is_the_same_file(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[tuple[int, bytes]]
) -> None:
    folder = tmp_path_factory.mktemp("sparse")
    with (folder / "a").open("wb") as file:
        file.truncate(1 << 20)
        for place, data in pieces:
            file.seek(place << 14)
            file.write(data)
    copy_sparse(folder / "a", folder / "b")
    assert (folder / "a").read_bytes() == (folder / "b").read_bytes()
    assert (folder / "b").stat().st_blocks <= (folder / "a").stat().st_blocks + 8


def test_a_drive_wide_discard_takes_no_room(folder: Path) -> None:
    size = 1 << 30
    row = [Did(0, size // SECTOR, DISCARD), write(5, 1, 1), flush()]
    log = logwrites.read(save(folder / "log", row), size)
    rebuild(log, folder / "drive", size, 1)
    assert (folder / "drive").stat().st_size == size
    assert (folder / "drive").stat().st_blocks * 512 < 1 << 20


ROWS = some.lists(
    some.one_of(
        some.just("flush"),
        some.tuples(
            some.integers(0, SECTORS - 1),
            some.integers(1, 6),
            some.sampled_from([0, 0, 0, FUA, DISCARD, FLUSH, FLUSH | FUA]),
            some.booleans(),
        ),
    ),
    max_size=25,
)


def row_of(drawn: list[str | tuple[int, int, int, bool]]) -> list[Did]:
    row = []
    for version, one in enumerate(drawn):
        if isinstance(one, str):
            row.append(flush())
        else:
            sector, sectors, flags, hole = one
            row.append(Did(sector, min(sectors, SECTORS - sector), flags, version, hole and not flags))
    return row


@settings(max_examples=300, deadline=None)
@given(drawn=ROWS, seed=some.integers(0, 1 << 32))
def test_every_sector_holds_what_a_drive_may_hold(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[str | tuple[int, int, int, bool]], seed: int
) -> None:
    folder = tmp_path_factory.getbasetemp()
    did = row_of(drawn)
    sectors, _ = remade(folder, did, seed)
    states = allowed(did)
    wrong = [at for at in range(SECTORS) if sectors[at] not in states[at]]
    assert not wrong, f"seed {seed}: sectors {wrong}"


def test_every_allowed_state_of_a_small_drive_comes_up(folder: Path) -> None:
    did = [write(0, 1, 1), flush(), write(0, 2, 2), write(1, 1, 3)]
    wanted = {(a, b) for a in allowed(did)[0] for b in allowed(did)[1]}
    dice = random.Random(5)  # noqa: S311
    seen = set()
    for _ in range(400):
        sectors, _ = remade(folder, did, dice.randrange(1 << 30), Cache(0.4, 0.6))
        seen.add((sectors[0], sectors[1]))
    assert seen == wanted
