"""What a drive with a volatile cache holds after a power cut.

Everything up to the last completed flush is there, and so is every write with forced unit access. Of each later write
the drive may have kept all, nothing, or some sectors, whatever became of the writes before and after it: caches write
back in the order that suits them. What was kept is drawn at random from a seed, so that a state can be made again.
"""

from __future__ import annotations

import errno
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from assay.error import FAILED

from assay_lab.error import LabError
from assay_lab.logwrites import DISCARD, FUA, Entry, Log

_PIECE = 4 << 20
_SURVIVAL = (0.0, 0.1, 0.5, 0.9, 1.0)
_TORN = (0.0, 0.2, 0.5)


@dataclass(frozen=True)
class Cache:
    """How a drive's volatile cache behaves at a power cut."""

    survive: float
    """Probability that a write which was not flushed is there as a whole."""
    torn: float
    """Probability that one which is not there as a whole is there in part."""

    @classmethod
    def drawn(cls, dice: random.Random, survive_at_most: float = 1.0) -> Cache:
        """A cache of one kind or another: nearly empty, nearly full, or in between."""
        return cls(dice.choice([each for each in _SURVIVAL if each <= survive_at_most]), dice.choice(_TORN))


KEEPS_NOTHING = Cache(0.0, 0.0)
KEEPS_ALL = Cache(1.0, 0.0)


@dataclass
class Fates:
    """What became of a drive's writes."""

    durable: int = 0
    survived: int = 0
    torn: int = 0
    lost: int = 0
    cache: Cache = field(default=KEEPS_NOTHING)

    def __str__(self) -> str:
        unflushed = f"{self.survived} survived, {self.torn} torn, {self.lost} lost"
        return f"{self.durable} writes durable; of those after the last flush {unflushed}"


def rebuild(
    log: Log,
    drive: Path,
    drive_bytes: int,
    seed: int,
    cache: Cache | None = None,
    survive_at_most: float = 1.0,
    base: Path | None = None,
) -> Fates:
    """Makes the drive's content anew, from the log and from what was there before it: `base`, or nothing.

    The log has to hold all that was written since. Without a cache, one is drawn, which keeps an unflushed write with a
    probability of `survive_at_most`. The file `drive` is replaced once the new one is complete.
    """
    dice = random.Random(seed)  # noqa: S311  A state that can be made again.
    fates = Fates(cache=cache or Cache.drawn(dice, survive_at_most))
    new = drive.with_name(drive.name + ".rebuilt")
    try:
        if base is not None:
            copy_sparse(base, new)
        with _Pen.on(log, new, drive_bytes, afresh=base is None) as pen:
            for entry, durable in _with_durability(log):
                _apply(pen, entry, durable, fates, dice)
        new.replace(drive)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise LabError(f"{drive} cannot be made anew: {error.strerror}", code=FAILED) from error
    return fates


def _with_durability(log: Log) -> Iterator[tuple[Entry, bool]]:
    flushed = log.flushed
    for at, entry in enumerate(log.entries):
        # The data of a write that asks for a flush comes after that flush.
        before = at < flushed - 1 or (at == flushed - 1 and not entry.writes)
        yield entry, before or bool(entry.flags & FUA)


def _apply(pen: _Pen, entry: Entry, durable: bool, fates: Fates, dice: random.Random) -> None:
    if entry.sectors == 0:
        return
    if durable:
        fates.durable += 1
        pen.put(entry, 0, entry.sectors)
    elif dice.random() < fates.cache.survive:
        fates.survived += 1
        pen.put(entry, 0, entry.sectors)
    elif dice.random() < fates.cache.torn:
        fates.torn += 1
        for at in range(entry.sectors):
            if dice.random() < 0.5:
                pen.put(entry, at, 1)
    else:
        fates.lost += 1


def copy_sparse(source: Path, target: Path) -> None:
    """Copies what a file holds; its holes stay holes."""
    with source.open("rb") as read, target.open("wb") as written:
        size = os.fstat(read.fileno()).st_size
        os.ftruncate(written.fileno(), size)
        at = 0
        while (found := _data_from(read.fileno(), at)) < size:
            end = os.lseek(read.fileno(), found, os.SEEK_HOLE)
            for piece in range(found, end, _PIECE):
                data = os.pread(read.fileno(), min(_PIECE, end - piece), piece)
                os.pwrite(written.fileno(), data, piece)
            at = end


def _data_from(descriptor: int, at: int) -> int:
    """Where the next data of a file begin; beyond its end where there are none."""
    try:
        return os.lseek(descriptor, at, os.SEEK_DATA)
    except OSError as error:
        if error.errno == errno.ENXIO:
            return 1 << 62
        raise


class _Pen:
    """Writes sectors of the log to the drive."""

    def __init__(self, log: int, drive: int, sector_bytes: int) -> None:
        self._log = log
        self._drive = drive
        self._sector = sector_bytes

    @classmethod
    @contextmanager
    def on(cls, log: Log, drive: Path, drive_bytes: int, afresh: bool) -> Iterator[_Pen]:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | (os.O_TRUNC if afresh else 0)
        source = os.open(log.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            target = os.open(drive, flags, 0o600)
            try:
                os.ftruncate(target, drive_bytes)
                yield cls(source, target, log.sector_bytes)
            finally:
                os.close(target)
        finally:
            os.close(source)

    def put(self, entry: Entry, first: int, count: int) -> None:
        """Some sectors of an entry. What was discarded reads as zeros."""
        at, size = (entry.sector + first) * self._sector, count * self._sector
        if entry.flags & DISCARD:
            self._clear(at, at + size)
        elif entry.writes:
            for done in range(0, size, _PIECE):
                length = min(_PIECE, size - done)
                self._put(os.pread(self._log, length, entry.data_at + first * self._sector + done), at + done)

    def _put(self, data: bytes, at: int) -> None:
        done = 0
        while done < len(data):
            done += os.pwrite(self._drive, data[done:], at + done)

    def _clear(self, at: int, end: int) -> None:
        """Zeros, where the file holds something; what it does not hold is zeros already."""
        while (at := _data_from(self._drive, at)) < end:
            length = min(_PIECE, end - at)
            self._put(bytes(length), at)
            at += length
