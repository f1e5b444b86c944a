"""Logs of writes, made by hand: what the filter in QEMU leaves, and what it could leave."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from assay_lab.logwrites import DISCARD, FLUSH, FUA, HEADER, MAGIC, SUPER, VERSION

SECTOR = 512
SECTORS = 32
"""Sectors of the drive that these logs are of."""
BYTES = SECTORS * SECTOR


@dataclass(frozen=True)
class Did:
    """One thing that the drive did."""

    sector: int = 0
    sectors: int = 0
    flags: int = 0
    version: int = 0
    """Tells its data from that of all others."""
    hole: bool = False
    """Its place in the log was given out, and its writing had not begun."""

    def data(self, sector: int) -> bytes:
        """What it left in a sector of the drive."""
        if self.flags & DISCARD:
            return bytes(SECTOR)
        return HEADER.pack(self.version + 1, sector, self.flags, 7) * (SECTOR // HEADER.size)

    def packed(self) -> bytes:
        """As it lies in the log."""
        header = HEADER.pack(self.sector, self.sectors, self.flags, 0).ljust(SECTOR, b"\0")
        if not self.flags & DISCARD:
            header += b"".join(self.data(self.sector + at) for at in range(self.sectors))
        return bytes(len(header)) if self.hole else header


def write(sector: int, sectors: int, version: int, fua: bool = False) -> Did:
    """A write."""
    return Did(sector, sectors, FUA if fua else 0, version)


def flush() -> Did:
    """A flush that was completed."""
    return Did(flags=FLUSH)


def discard(sector: int, sectors: int) -> Did:
    """A discard."""
    return Did(sector, sectors, DISCARD)


def superblock(entries: int, sector_bytes: int = SECTOR) -> bytes:
    """The first sector."""
    return SUPER.pack(MAGIC, VERSION, entries, sector_bytes).ljust(max(sector_bytes, SECTOR), b"\0")


def save(path: Path, did: list[Did], counted: int | None = None) -> Path:
    """A log in a file. `counted` is what its superblock says; all by default."""
    count = len(did) if counted is None else counted
    path.write_bytes(superblock(count) + b"".join(one.packed() for one in did))
    return path
