"""Flushes that flush nothing."""

from __future__ import annotations

import platform
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from e2e import places, program
from e2e.jobs import MIB, job, writes
from e2e.program import Outcome

from lies.gallery import lie
from lies.room import Room, small

COMMITS = writes(durability={"kind": "fdatasync"})


@lie(
    "flush-without-barrier",
    "ext4 without barriers: fdatasync returns when the bytes are in the drive's volatile cache.",
    "flush-not-seen",
)
def without_barrier(room: Room) -> Outcome:
    at = room.spare / "mnt"
    with places.disk(room.spare / "image", at, 128 * MIB, options="barrier=0") as (_, place):
        return program.run(job(place, COMMITS, **small(), measure_s=1.0))


@lie(
    "flush-that-a-sandbox-swallows",
    "A system call filter answers fdatasync with success and does nothing.",
    "flush-not-seen",
)
def swallowed(room: Room) -> Outcome:
    return program.run(job(room.place, COMMITS, **small(), measure_s=1.0), without_flushes())


@lie(
    "buffered-writes-and-a-swallowed-flush",
    "The same with writes through the page cache: nothing reaches the disk in the window.",
    "flush-not-seen",
)
def buffered_and_swallowed(room: Room) -> Outcome:
    commits = writes(path="pread", durability={"kind": "fsync"})
    return program.run(job(room.place, commits, **small(), measure_s=1.0), without_flushes())


@lie(
    "write-cache-declared-away",
    "Somebody wrote `write through` into the queue's write_cache: the kernel drops every flush.",
    "flush-not-seen",
)
def declared_away(room: Room) -> Outcome:
    switch = Path("/sys/block", room.device.name, "queue", "write_cache")
    before = switch.read_text().strip()
    switch.write_text("write through")
    try:
        return program.run(job(room.place, COMMITS, **small(), measure_s=1.0))
    finally:
        switch.write_text(before)


_FILTER = """
import ctypes, os, struct, sys
audit, calls = int(sys.argv[1]), [int(number) for number in sys.argv[2].split(",")]
load, equal, answer = 0x20, 0x15, 0x06
rules = [(load, 0, 0, 4), (equal, 0, len(calls) + 1, audit), (load, 0, 0, 0)]
rules += [(equal, len(calls) - index, 0, number) for index, number in enumerate(calls)]
rules += [(answer, 0, 0, 0x7FFF0000), (answer, 0, 0, 0x00050000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *rule) for rule in rules))
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("rules", ctypes.c_void_p)]
program = Program(len(rules), ctypes.addressof(code))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(program), 0, 0):
    sys.exit(f"no filter for system calls: {os.strerror(ctypes.get_errno())}")
os.execvp(sys.argv[3], sys.argv[3:])
"""

# Architecture as the kernel's audit has it; numbers of fsync and fdatasync.
_CALLS = {"x86_64": (0xC000003E, (74, 75)), "aarch64": (0xC00000B7, (82, 83))}


def without_flushes() -> Sequence[str]:
    """A command prefix: the command's fsync and fdatasync succeed and do nothing."""
    known = _CALLS.get(platform.machine())
    if known is None:
        pytest.skip(f"the numbers of system calls on {platform.machine()} are not known here")
    audit, calls = known
    return (sys.executable, "-c", _FILTER, str(audit), ",".join(map(str, calls)))
