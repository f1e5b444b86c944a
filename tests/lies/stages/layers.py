"""Layers between the program and the medium that do less than they seem to."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from e2e import places, program
from e2e.jobs import MIB, job, writes
from e2e.program import Outcome

from lies.gallery import lie
from lies.room import Room, as_found, small, written

TEXT = b"It was the best of times, it was the worst of times, it was the age of wisdom. "


@contextlib.contextmanager
def zram(size: int) -> Iterator[Path]:
    """A device that compresses into memory."""
    places.privileged("zram devices")
    device = places.tool("zramctl", "--find", "--size", str(size))
    try:
        yield Path(device)
    finally:
        places.tool("zramctl", "--reset", device)


@contextlib.contextmanager
def file_system(kind: str, room: Room, *options: str, size: int = 256 * MIB) -> Iterator[Path]:
    """A file system of a kind on a loop device in the spare folder; `options` are of its mount."""
    at = room.spare / "mnt"
    with places.loop(room.spare / "image", size) as device:
        places.tool(f"mkfs.{kind}", "-q", str(device.device))
        with places.mounted(str(device.device), at, *options) as place:
            yield place


@lie(
    "compressing-device-and-zeros",
    "A file system on zram, which keeps no page of zeros, and a data set of zeros.",
    "compressible-data",
)
def zeros_on_zram(room: Room) -> Outcome:
    with zram(256 * MIB) as device:
        places.tool("mkfs.ext4", "-q", str(device))
        with places.mounted(str(device), room.spare / "mnt") as place:
            return program.run(job(place, **small(32, content="zero"), measure_s=1.0))


@lie(
    "disk-that-is-memory",
    "A file system on zram: the figures are memory's, and the device looks like any disk.",
    "memory-beneath",
)
def memory_disk(room: Room) -> Outcome:
    with zram(256 * MIB) as device:
        places.tool("mkfs.ext4", "-q", str(device))
        with places.mounted(str(device), room.spare / "mnt") as place:
            return program.run(job(place, **small(32), measure_s=1.0))


@lie(
    "disk-whose-image-is-in-memory",
    "A loop device with direct I/O over an image that lies in tmpfs.",
    "memory-beneath",
)
def image_in_memory(room: Room) -> Outcome:
    return program.run(job(room.place, **small(32), measure_s=1.0))


@lie(
    "overlay-in-memory",
    "A folder as a container sees it: an overlay whose upper layer is tmpfs.",
    "page-cache-served",
)
def overlay(room: Room) -> Outcome:
    with places.tmpfs(room.spare / "memory", 128 * MIB) as memory:
        for name in ("lower", "upper", "work"):
            (memory / name).mkdir()
        options = f"lowerdir={memory / 'lower'},upperdir={memory / 'upper'},workdir={memory / 'work'}"
        with places.mounted("overlay", room.spare / "mnt", "-t", "overlay", "-o", options) as place:
            return program.run(job(place, **small(32), measure_s=1.0))


@lie(
    "transparent-compression",
    "A file of text on btrfs with compression, read directly: hardly anything is read of the disk.",
    "page-cache-served",
)
def btrfs_text(room: Room) -> Outcome:
    with file_system("btrfs", room, "-o", "compress-force=zstd") as place:
        path = written(place / "table", TEXT * (32 * MIB // len(TEXT)))
        return program.run(as_found(path, size=24 * MIB, measure_s=1.0))


@lie(
    "transparent-compression-of-zeros",
    "A data set of zeros on btrfs with compression.",
    "compressible-data",
)
def btrfs_zeros(room: Room) -> Outcome:
    with file_system("btrfs", room, "-o", "compress-force=zstd") as place:
        return program.run(job(place, **small(32, content="zero"), measure_s=1.0))


@lie(
    "shared-extents",
    "A file on XFS whose blocks are all one block of the disk (reflinks).",
    "compressible-data",
)
def reflinks(room: Room) -> Outcome:
    with file_system("xfs", room, size=512 * MIB) as place:
        path = written(place / "table", os.urandom(MIB))
        for at in range(1, 16):
            places.tool("xfs_io", "-c", f"reflink {path} 0 {at * MIB} {MIB}", str(path))
        return program.run(as_found(path, measure_s=1.0))


@lie(
    "direct-io-that-is-none",
    "ext4 with journalled data takes O_DIRECT and goes through the page cache.",
    "page-cache-served",
)
def journalled_data(room: Room) -> Outcome:
    with file_system("ext4", room, "-o", "data=journal") as place:
        return program.run(job(place, **small(16), measure_s=1.0))


@lie(
    "direct-writes-that-are-none",
    "ext4 with journalled data takes direct writes into the page cache.",
    "device-bytes-differ",
)
def journalled_writes(room: Room) -> Outcome:
    with file_system("ext4", room, "-o", "data=journal") as place:
        return program.run(job(place, writes(), **small(16), measure_s=1.0))
