"""What a drive was asked to write, in order: the log of QEMU's `blklogwrites` filter, or of Linux's `dm-log-writes`.

The log is a row of sectors. The first is the superblock; then, for each write, flush and discard, comes a sector with
its header, and after the header of a write its data. The superblock's count of entries is of no use after a power cut:
it may be older than the log, where two flushes end out of order, and it counts entries that were never written. So the
log is walked to its end. An entry whose writing had not begun left zeros, and so did its data: the walk goes on at the
next sector that holds something.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from assay.error import FAILED

from assay_lab.error import LabError

MAGIC = 0x6A736677736872
VERSION = 1
FLUSH, FUA, DISCARD, MARK = 1, 2, 4, 8
SUPER = struct.Struct("<QQQI")
"""Magic number, version, number of entries, bytes of a sector."""
HEADER = struct.Struct("<QQQQ")
"""First sector, number of sectors, flags, bytes of a mark's text."""

_FLAGS = FLUSH | FUA | DISCARD | MARK
_SECTOR_BYTES = (512, 1 << 23)
_SEARCHED_AT_ONCE = 1 << 20


class LogError(LabError):
    """A log that is not one, or is damaged."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that a drive was asked to do, and did."""

    sector: int
    sectors: int
    flags: int
    data_at: int
    """Where the data lies in the log, bytes; only a write has some."""

    @property
    def writes(self) -> bool:
        """Whether it brings data."""
        return self.sectors > 0 and not self.flags & (DISCARD | MARK)


@dataclass(frozen=True)
class Log:
    """A log of one drive."""

    path: Path
    sector_bytes: int
    entries: list[Entry]
    holes: int
    """Places where an entry was due whose writing had not begun."""
    unfinished: bool
    """The last entry is cut off: nobody was told that it was done, and it is left out."""

    @property
    def flushes(self) -> int:
        """Flushes that were completed."""
        return sum(1 for entry in self.entries if entry.flags & FLUSH)

    @property
    def flushed(self) -> int:
        """Number of entries up to the last completed flush: all these writes are durable."""
        last = (at for at in range(len(self.entries) - 1, -1, -1) if self.entries[at].flags & FLUSH)
        return next(last, -1) + 1


def read(path: Path, drive_bytes: int, sector_bytes: int = 512) -> Log:
    """Reads a log. `sector_bytes` is for a log that ended before its superblock was written."""
    try:
        size = path.stat().st_size
        if size == 0:
            return Log(path, sector_bytes, [], 0, unfinished=False)
        with path.open("rb") as file, mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) as data:
            return _Walk(path, data, drive_bytes).log(sector_bytes)
    except OSError as error:
        raise LogError(f"the log of writes {path} cannot be read: {error.strerror}", code=FAILED) from error


class _Walk:
    """A walk along a log."""

    def __init__(self, path: Path, data: mmap.mmap, drive_bytes: int) -> None:
        self._path = path
        self._data = data
        self._drive_bytes = drive_bytes
        self._sector = 0
        self._holes = 0
        self._unfinished = False

    def log(self, sector_bytes: int) -> Log:
        self._sector = self._super(sector_bytes)
        entries = list(self._entries())
        return Log(self._path, self._sector, entries, self._holes, self._unfinished)

    def _super(self, otherwise: int) -> int:
        """Bytes of a sector."""
        if len(self._data) < SUPER.size or not any(self._data[: SUPER.size]):
            return otherwise
        magic, version, _, sector = SUPER.unpack_from(self._data, 0)
        if magic != MAGIC:
            raise self._error(f"it begins with {magic:#x}, not with {MAGIC:#x}")
        if version != VERSION:
            raise self._error(f"it is of version {version}, not {VERSION}")
        smallest, largest = _SECTOR_BYTES
        if not smallest <= sector <= largest or sector & (sector - 1):
            raise self._error(f"its sectors have {sector} bytes")
        return int(sector)

    def _entries(self) -> Iterator[Entry]:
        at = self._sector
        while (found := self._next(at)) is not None:
            self._holes += found != at
            entry, at = self._entry(found)
            if at > len(self._data):
                self._unfinished = True
                return
            yield entry

    def _next(self, at: int) -> int | None:
        """The next sector that holds something, and holds it as a whole."""
        size = len(self._data)
        while at + self._sector <= size:
            if any(self._data[at : at + HEADER.size]):
                return at
            if any(self._data[at : at + self._sector]):
                raise self._error(f"at byte {at} it has neither an entry nor zeros")
            at = self._beyond_zeros(at + self._sector)
        self._unfinished |= any(self._data[at:size])
        return None

    def _beyond_zeros(self, at: int) -> int:
        """The first sector from here on that is not all zeros, or the end."""
        size = len(self._data)
        while at < size:
            piece = self._data[at : at + _SEARCHED_AT_ONCE]
            left = len(piece) - len(piece.lstrip(b"\0"))
            if left < len(piece):
                return (at + left) // self._sector * self._sector
            at += len(piece)
        return size

    def _entry(self, at: int) -> tuple[Entry, int]:
        """The entry of a header, and where the next header lies."""
        sector, sectors, flags, text = HEADER.unpack_from(self._data, at)
        data_at = at + self._sector
        entry = Entry(sector, sectors, flags, data_at)
        wrong = self._defect(entry, text)
        used = HEADER.size + (text if flags & MARK else 0)
        if wrong is None and any(self._data[at + used : data_at]):
            wrong = "its header is followed by other bytes"
        if wrong is not None:
            raise self._error(f"at byte {at} an entry was due, and {wrong}")
        return entry, data_at + (sectors * self._sector if entry.writes else 0)

    def _defect(self, entry: Entry, text: int) -> str | None:
        if entry.flags & ~_FLAGS:
            return f"its flags are {entry.flags:#x}"
        if (text and not entry.flags & MARK) or text > self._sector - HEADER.size:
            return f"it has {text} bytes of text"
        if (entry.sector + entry.sectors) * self._sector > self._drive_bytes:
            return f"it ends at sector {entry.sector + entry.sectors}, beyond the drive's {self._drive_bytes} bytes"
        if entry.sectors == 0 and not entry.flags:
            return "it is a write of nothing"
        return None

    def _error(self, seen: str) -> LogError:
        hint = "write zeroes commands that overlap other writes damage the log; the lab turns them off"
        return LogError(f"{self._path} is no log of writes, or a damaged one: {seen}", hint=hint, code=FAILED)
