"""What is counted, and when: windows, freezes, throttles."""

from __future__ import annotations

import signal
import time

from assay.untyped import Json
from e2e import places, program
from e2e.jobs import fixed, job, klass, writes
from e2e.program import Outcome, Running

from lies.gallery import lie
from lies.room import Room, during, small
from lies.stages import holds

FREEZE_S = 0.42


@lie("tiny-window", "A window of 0.2 s.", "window-too-short", says="less than a second")
def tiny_window(room: Room) -> Outcome:
    return program.run(job(room.folder, measure_s=0.2))


@lie("few-operations", "A window in which 40 operations are due.", "window-too-short", says="operations completed")
def few(room: Room) -> Outcome:
    return program.run(job(room.folder, klass(arrivals=fixed(40)), measure_s=1.0))


@lie(
    "percentile-of-a-few",
    "An objective about p99.9 and 200 operations.",
    "window-too-short",
    says="p99.9",
)
def percentile(room: Room) -> Outcome:
    reads = klass(arrivals=fixed(200), objective={"metric": "p999_ns", "bound": 1e12})
    return program.run(job(room.folder, reads, measure_s=1.0))


@lie("window-cut-short", "Ctrl-C after a fraction of the window.", "interrupted")
def cut_short(room: Room) -> Outcome:
    return during(job(room.folder, measure_s=60), lambda run: run.signal(signal.SIGINT))


def frozen(room: Room, at_s: float, window: Json | None = None) -> Outcome:
    """Durable writes at a rate to a file system that is frozen from that moment of the window on."""
    log = writes(arrivals=fixed(200), durability={"kind": "fdatasync"}, objective={"metric": "p99_ns", "bound": 100e6})

    def act(_: Running) -> None:
        with holds.file_system(room.place):
            time.sleep(FREEZE_S)

    wanted = job(room.place, log, **small(8), measure_s=2.0, window=window or {})
    return during(wanted, act, at_s)


@lie(
    "freeze-in-the-middle",
    "The file system is frozen for 0.42 s in the middle of a window of 2 s.",
    "not-steady",
)
def freeze_in_the_middle(room: Room) -> Outcome:
    return frozen(room, 0.9)


@lie(
    "freeze-at-the-beginning",
    "The file system is frozen for the first 0.42 s of the window.",
    "not-steady",
)
def freeze_at_the_beginning(room: Room) -> Outcome:
    return frozen(room, 0.0)


@lie(
    "throttle-all-along",
    "The control group may do 400 reads/s, and the disk could do more.",
    "limit-met",
)
def throttled_all_along(room: Room) -> Outcome:
    with places.throttled(room.device.device, reads_per_s=400) as group:
        wanted = job(room.place, klass(), **small(32), measure_s=2.0, window={"warmup_s": 0.3})
        return program.run(wanted, places.inside(group))


@lie(
    "throttle-in-mid-window",
    "The disk falls to a fifth in the middle of the window, as one does whose write cache is full.",
    "steadiness-lost",
)
def throttled_in_mid_window(room: Room) -> Outcome:
    with places.throttled(room.device.device, reads_per_s=800) as group:
        return during(
            job(room.place, klass(), **small(), measure_s=2.0),
            lambda _: places.limit(group, room.device.device, reads_per_s=150),
            1.0,
            places.inside(group),
        )


@lie(
    "bandwidth-that-rises",
    "The disk is let go faster every fifth of a second.",
    "not-steady",
)
def rises(room: Room) -> Outcome:
    device = room.device.device

    def act(run: Running) -> None:
        for step in range(1, 9):
            if run.until("interval", at_s=0.2 * step) is not None:
                places.limit(group, device, reads_per_s=100 + 150 * step)

    with places.throttled(device, reads_per_s=100) as group:
        return during(job(room.place, klass(), **small(), measure_s=2.0), act, 0.0, places.inside(group))


@lie("rate-that-nobody-serves", "50 million reads/s are asked for, and what was served is shown.", "rate-not-reached")
def unserved(room: Room) -> Outcome:
    return program.run(job(room.folder, klass(arrivals=fixed(50e6)), **small(), measure_s=1.0))


@lie(
    "depth-in-name-only",
    "32 buffered reads in flight are asked for of libaio, which does them one by one.",
    "depth-not-reached",
)
def depth(room: Room) -> Outcome:
    return program.run(job(room.folder, klass(path="libaio", depth=32), **small(32), cache="cold", measure_s=1.0))


@lie("generator-alone", "Reads of 64 bytes of memory: mostly the generator is measured.", "generator-bound")
def generator(room: Room) -> Outcome:
    memory = {"id": "main", "kind": "memory"}
    return program.run(job(memory, klass(path="pmem", size=64), **small(1), measure_s=1.0))
