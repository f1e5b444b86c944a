"""A file system that a program plays: it completes what it does not do, answers late, and swallows flushes."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from e2e import places, program
from e2e.jobs import KIB, MIB, fixed, job, klass, writes
from e2e.program import Outcome
from faults import faultfs
from faults.faultfs import FaultFs

from lies.gallery import lie
from lies.room import Room, as_found, during, small, written


@contextlib.contextmanager
def played(room: Room) -> Iterator[tuple[FaultFs, Path]]:
    """The file system of the tests of faults, mounted in the spare folder; it does as it should until it is told."""
    with faultfs.mounted(room.spare / "played", space=256 * MIB) as fs:
        yield fs, fs.at


@lie(
    "flush-that-a-file-system-swallows",
    "A FUSE file system answers fdatasync with success and does nothing. From inside that looks like one that does it: "
    "the record says that nothing shows a flush to have reached a device.",
    "flush-not-seen",
    says="a program or another machine answers them",
)
def swallows(room: Room) -> Outcome:
    with played(room) as (fs, place):
        fs.rule("sync", "lie")
        return program.run(job(place, writes(durability={"kind": "fdatasync"}), **small(), measure_s=1.0))


@lie(
    "writes-that-are-not-done",
    "A FUSE file system completes writes at once and drops them.",
    "data-corrupt",
    says="without doing them",
)
def not_done(room: Room) -> Outcome:
    with played(room) as (fs, place):
        wanted = job(place, writes(arrivals=fixed(200)), **small(), measure_s=1.0)
        return during(wanted, lambda _: fs.rule("write", "lie"))


@lie(
    "reads-that-are-answered-late",
    "A FUSE file system answers reads after 2 ms, and for the last part of the window after 20 ms.",
    "steadiness-lost",
)
def answered_late(room: Room) -> Outcome:
    with played(room) as (fs, place):
        fs.rule("read", "slow:2", "name=data")

        def later(_: object) -> None:
            fs.clear()
            fs.rule("read", "slow:20", "name=data")

        return during(job(place, klass(), **small(), measure_s=2.0), later, at_s=1.0)


@lie(
    "memory-behind-a-file-system",
    "Direct reads of a FUSE file system that keeps its files in memory, and looks like any other.",
    "page-cache-served",
    says="a program or another machine",
)
def in_memory(room: Room) -> Outcome:
    with played(room) as (_, place):
        return program.run(job(place, klass(), **small(64), measure_s=1.0))


@lie(
    "disk-of-huge-pages",
    "A loop device whose image lies in memory that is mapped by huge pages (tmpfs with huge=always).",
    "memory-beneath",
)
def huge_pages(room: Room) -> Outcome:
    tmpfs = ("-t", "tmpfs", "-o", "size=256m,huge=always")
    with (
        places.mounted("tmpfs", room.spare / "huge", *tmpfs) as memory,
        places.disk(memory / "image", room.spare / "mnt", 128 * MIB) as (_, place),
    ):
        return program.run(job(place, klass(size=64 * KIB), **small(32), measure_s=1.0))


@lie(
    "deduplicated-copies",
    "A file of one block, thousands of times: a device that deduplicates has one block to read.",
    "compressible-data",
)
def copies(room: Room) -> Outcome:
    block = os.urandom(4096)
    with places.disk(room.spare / "image", room.spare / "mnt", 128 * MIB) as (_, place):
        return program.run(as_found(written(place / "table", block * (32 * MIB // 4096)), measure_s=1.0))
