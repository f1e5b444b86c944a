"""A target that is another one in the end, or breaks."""

from __future__ import annotations

import os

from e2e import places
from e2e.jobs import MIB, dataset, fixed, job, klass, writes
from e2e.program import Outcome, Running

from lies.gallery import REFUSED, lie
from lies.room import Room, as_found, device_target, during, small


@lie(
    "file-swapped-in-mid-run",
    "While a file is read, another one takes its name.",
    "target-changed",
)
def swapped(room: Room) -> Outcome:
    path = room.somebodys(os.urandom(16 * MIB))
    other = room.somebodys(os.urandom(1 * MIB), "other")
    return during(as_found(path, measure_s=1.0), lambda _: other.replace(path) and None)


@lie(
    "file-removed-in-mid-run",
    "While a file is read, somebody removes it.",
    "target-changed",
)
def removed(room: Room) -> Outcome:
    path = room.somebodys(os.urandom(16 * MIB))
    return during(as_found(path, measure_s=1.0), lambda _: path.unlink())


@lie(
    "file-cut-in-mid-run",
    "Somebody truncates a file while it is read, and lets it grow again: what was data is a hole now.",
    "target-changed",
)
def cut(room: Room) -> Outcome:
    path = room.somebodys(os.urandom(16 * MIB))

    def act(_: Running) -> None:
        os.truncate(path, 1 * MIB)
        os.truncate(path, 16 * MIB)

    return during(as_found(path, klass(arrivals=fixed(200)), measure_s=1.0), act)


@lie("file-overwritten-in-mid-run", "Somebody writes into a file of stamped blocks while it is read.", "data-corrupt")
def overwritten(room: Room) -> Outcome:
    def act(_: Running) -> None:
        with next(room.folder.glob("*/*.data")).open("r+b") as file:
            file.seek(MIB + 100)
            file.write(b"flipped" * 65536)
            os.fsync(file.fileno())

    wanted = job(room.folder, klass(), **small(4, content="stamped"), checks={"data": True}, measure_s=1.0)
    return during(wanted, act)


@lie(
    "file-changed-in-mid-run",
    "Somebody writes into a file of somebody's while it is read, so that part of it is in memory.",
    "target-changed",
)
def changed(room: Room) -> Outcome:
    path = room.somebodys(os.urandom(16 * MIB))

    def act(_: Running) -> None:
        with path.open("r+b") as file:
            file.write(os.urandom(8 * MIB))

    return during(as_found(path, klass(arrivals=fixed(500)), measure_s=1.0), act)


@lie("disk-that-loses-its-half", "The second half of a disk is gone in mid-run: reads of it fail at once.", "errors")
def loses_half(room: Room) -> Outcome:
    with places.loop(room.spare / "image", 16 * MIB) as device:
        device.image.write_bytes(os.urandom(16 * MIB))
        found = dataset(size=16 * MIB, layout="as-found")
        # So few that no worker gives up: the run ends as planned, and its verdict tells.
        wanted = job(device_target(device), klass(arrivals=fixed(60)), datasets=[found], measure_s=1.0)
        return during(wanted, lambda _: os.truncate(device.image, 8 * MIB), at_s=0.1)


@lie(
    "full-file-system",
    "Somebody fills the file system while a log grows: its appends fail at once.",
    REFUSED,
    says="No space left",
)
def full(room: Room) -> Outcome:
    log = writes(path="pread", pattern={"kind": "sequential"}, arrivals=fixed(200), size=256 << 10)

    def fill(_: Running) -> None:
        with (room.place / "filler").open("wb") as file:
            free = os.statvfs(room.place)
            os.posix_fallocate(file.fileno(), 0, free.f_bavail * free.f_frsize - 8 * MIB)

    try:
        grows = [dataset(size=128 * MIB, layout="grow")]
        return during(job(room.place, log, datasets=grows, measure_s=1.5), fill)
    finally:
        (room.place / "filler").unlink(missing_ok=True)
