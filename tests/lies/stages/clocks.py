"""Clocks that are wrong."""

from __future__ import annotations

import platform
import struct
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from e2e import places
from e2e.jobs import fixed, job, klass
from e2e.program import Outcome

from lies.gallery import lie
from lies.room import Room, during, small

SOURCE = Path(__file__).resolve().parent.parent / "wrong_clock.c"
# More ticks than a fiftieth of a second has on any machine of today.
TICKS = 200_000_000


@cache
def library(folder: Path) -> Path:
    """The library that makes the clocks of a program wrong."""
    if platform.machine() != "x86_64":
        pytest.skip("only x86-64 lets a program's reads of its time stamp counter be caught")
    built = folder / "wrong_clock.so"
    places.tool("cc", "-shared", "-fPIC", "-O1", "-o", str(built), str(SOURCE))
    return built


def believe(file: Path, value: int) -> None:
    """Sets what the program is to believe; it looks at the file itself."""
    with file.open("r+b") as numbers:
        numbers.write(struct.pack("q", value))


def with_clocks(room: Room, act: Callable[[Path], None], name: str, measure_s: float = 1.5) -> Outcome:
    """Reads of a disk by a program with wrong clocks; `act` gets the file that says how wrong, in mid-window."""
    number = room.spare / "number"
    number.write_bytes(struct.pack("q", 0))
    reads = klass(arrivals=fixed(300))
    wanted = job(room.folder, reads, **small(32), measure_s=measure_s)
    prefix = ["env", f"LD_PRELOAD={library(room.spare)}", f"{name}={number}"]
    return during(wanted, lambda _: act(number), 0.4, prefix)


@lie(
    "counter-that-jumps",
    "The counter that times operations jumps ahead in mid-window.",
    "clock-unreliable",
)
def jumps(room: Room) -> Outcome:
    return with_clocks(room, lambda number: believe(number, TICKS), "WRONG_CLOCK")


@lie(
    "counter-that-runs-fast-and-then-slow",
    "The counter runs ahead for a third of a second and is right again before the window ends.",
    "clock-unreliable",
    says="within the window",
)
def fast_and_slow(room: Room) -> Outcome:
    def act(number: Path) -> None:
        for share in (*range(1, 9), *reversed(range(8))):
            believe(number, TICKS * share // 8)
            time.sleep(0.03)

    return with_clocks(room, act, "WRONG_CLOCK")


@lie(
    "machine-that-slept",
    "The machine sleeps for three seconds in mid-window (CLOCK_BOOTTIME says so, CLOCK_MONOTONIC does not).",
    "clock-unreliable",
    says="slept",
)
def slept(room: Room) -> Outcome:
    return with_clocks(room, lambda number: believe(number, 3_000_000_000), "WRONG_SLEEP")
