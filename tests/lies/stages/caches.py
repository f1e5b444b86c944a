"""Memory that answers for a device."""

from __future__ import annotations

import os
import time

from e2e import groups, places, program
from e2e.jobs import KIB, MIB, dataset, fixed, job, klass, writes
from e2e.program import Outcome

from lies.gallery import lie
from lies.room import Room, device_target, during, small


@lie(
    "page-cache-after-warm-up",
    "A file of 8 MiB is to be read cold, through the page cache, and the warm-up reads all of it first.",
    "page-cache-served",
)
def after_warm_up(room: Room) -> Outcome:
    reads = klass(path="pread", size=64 * KIB)
    return program.run(job(room.folder, reads, cache="cold", **small(), window={"warmup_s": 0.3}))


@lie(
    "mapping-read-twice",
    "A mapped file of 8 MiB is to be read cold, and the window goes over it many times.",
    "page-cache-served",
)
def mapping_read_twice(room: Room) -> Outcome:
    return program.run(job(room.folder, klass(path="mmap"), cache="cold", **small(), window={"warmup_s": 0.3}))


@lie(
    "file-that-fits-into-memory",
    "A file of 8 MiB is read through the page cache, and nobody said that memory is what should be measured.",
    "file-smaller-than-caches",
)
def fits_into_memory(room: Room) -> Outcome:
    reads = klass(path="io_uring", size=64 * KIB)
    return program.run(job(room.folder, reads, **small(), window={"warmup_s": 0.2}))


@lie(
    "warm-cache-that-is-emptied",
    "Reads are to come from the page cache, and somebody drops the file from it all the time.",
    "cache-not-warm",
)
def emptied(room: Room) -> Outcome:
    def drop(_: object) -> None:
        with next(room.place.glob("*/*.data")).open("rb") as file:
            end = time.monotonic() + 0.5
            while time.monotonic() < end:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                time.sleep(0.01)

    reads = klass(path="pread", size=64 * KIB, arrivals=fixed(300))
    return during(job(room.place, reads, cache="warm", **small(16), measure_s=1.0), drop, at_s=0.1)


@lie(
    "warm-cache-without-room",
    "64 MiB are to be read from the page cache by a control group that may have 24 MiB of memory.",
    "cache-not-warm",
)
def without_room(room: Room) -> Outcome:
    with groups.memory_limit(24 * MIB) as group:
        reads = klass(path="pread", size=64 * KIB)
        return program.run(job(room.folder, reads, cache="warm", **small(64)), places.inside(group))


@lie(
    "loop-device-over-the-page-cache",
    "Direct reads of a loop device whose image was attached without direct I/O: the image lies in the page cache.",
    "page-cache-served",
)
def buffered_loop(room: Room) -> Outcome:
    with places.loop(room.spare / "image", 32 * MIB, direct=False) as device:
        device.image.write_bytes(os.urandom(32 * MIB))
        found = dataset(size=32 * MIB, layout="as-found")
        return program.run(job(device_target(device), klass(), datasets=[found], cache="bypassed", measure_s=1.0))


@lie(
    "writes-into-the-page-cache-of-a-loop-device",
    "Direct writes to a file system on a loop device without direct I/O: they end in the host's page cache.",
    "memory-beneath",
)
def buffered_loop_writes(room: Room) -> Outcome:
    with places.disk(room.spare / "image", room.spare / "mnt", 128 * MIB, direct=False) as (_, place):
        return program.run(job(place, writes(), **small(32), measure_s=1.0))


@lie(
    "writes-that-stay-in-memory",
    "Buffered writes that nothing makes durable, as figures of the disk.",
    "device-bytes-differ",
)
def stay_in_memory(room: Room) -> Outcome:
    return program.run(job(room.place, writes(path="pread"), **small(32), measure_s=1.0))


@lie(
    "direct-reads-of-a-tiny-file",
    "A file of 1 MiB is read directly: the smallest cache of a drive or of a virtual machine's host holds all of it.",
    "file-smaller-than-caches",
)
def tiny_file(room: Room) -> Outcome:
    return program.run(job(room.folder, klass(), **small(1), measure_s=1.0))
