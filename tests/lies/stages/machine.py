"""A machine that is not the run's alone, or stands still."""

from __future__ import annotations

import os
import time
from pathlib import Path

from e2e import groups, neighbours, places, program
from e2e.jobs import KIB, MIB, fixed, job, klass
from e2e.neighbours import one_cpu
from e2e.program import Outcome, Running

from lies.gallery import lie
from lies.room import Room, during, small
from lies.stages import holds

MEMORY = {"id": "main", "kind": "memory"}
STILL_S = 0.5


@lie(
    "neighbours-on-the-cpus",
    "Busy processes, two for each CPU, beside a load in memory.",
    "cpu-taken",
)
def on_the_cpus(room: Room) -> Outcome:
    wanted = job(MEMORY, klass(path="pmem", threads=2), **small(16), measure_s=1.5)
    with neighbours.busy(2 * len(os.sched_getaffinity(0))):
        return program.run(wanted)


@lie(
    "neighbours-of-a-disk-load",
    "Busy processes, two for each CPU, beside reads of a disk at depth 1.",
    "cpu-taken",
)
def of_a_disk_load(room: Room) -> Outcome:
    with neighbours.busy(2 * len(os.sched_getaffinity(0))):
        return program.run(job(room.place, klass(path="io_uring+direct", threads=2), **small(), measure_s=1.5))


@lie(
    "neighbour-on-the-disk",
    "Another process reads the same disk.",
    "foreign-load",
)
def on_the_disk(room: Room) -> Outcome:
    with neighbours.reader(room.device.device):
        return program.run(job(room.place, klass(arrivals=fixed(200)), **small(), measure_s=1.0))


@lie(
    "neighbour-that-writes",
    "Another process writes to the same disk, around the page cache.",
    "foreign-load",
)
def that_writes(room: Room) -> Outcome:
    file = room.place / "foreign"
    try:
        with neighbours.writer(file, 32 * MIB):
            return program.run(job(room.place, klass(arrivals=fixed(200)), **small(), measure_s=1.0))
    finally:
        file.unlink(missing_ok=True)


@lie(
    "neighbour-that-flushes",
    "Another process flushes the same disk all the time and moves no bytes.",
    "foreign-load",
    says="flush",
)
def that_flushes(room: Room) -> Outcome:
    with neighbours.flusher(room.device.device):
        return program.run(job(room.place, klass(arrivals=fixed(200)), **small(), measure_s=1.0))


@lie(
    "neighbour-on-the-memory-bus",
    "Another process copies memory on another CPU, beside a load in memory on one CPU.",
    "foreign-load",
    says="memory",
)
def on_the_memory_bus(room: Room) -> Outcome:
    wanted = job(MEMORY, klass(path="pmem", size=64 * KIB), **small(256), measure_s=1.5)
    with neighbours.copier():
        return program.run(wanted)


@lie(
    "cpu-quota",
    "The control group may use 0.3 of a CPU.",
    "frequency-changed",
    says="quota",
)
def quota(room: Room) -> Outcome:
    with groups.cpu_quota(0.3) as group:
        return program.run(job(MEMORY, klass(path="pmem"), **small(16), measure_s=1.0), places.inside(group))


@lie(
    "cpus-that-go-away",
    "In mid-run all threads are bound to one CPU, as when CPUs are taken offline.",
    "frequency-changed",
    says="CPUs",
)
def go_away(room: Room) -> Outcome:
    def bind(run: Running) -> None:
        for task in Path(f"/proc/{run.process.pid}/task").iterdir():
            os.sched_setaffinity(int(task.name), {max(os.sched_getaffinity(0))})

    return during(job(MEMORY, klass(path="pmem", threads=2), **small(16), measure_s=1.5), bind, 0.7)


@lie(
    "generator-without-a-turn",
    "Operations are due 500 times a second, and two neighbours have the generator's CPU.",
    "generator-late",
)
def without_a_turn(room: Room) -> Outcome:
    wanted = job(MEMORY, klass(path="pmem", size=64, arrivals=fixed(500)), **small(1), measure_s=1.0)
    with one_cpu(), neighbours.busy(2):
        return program.run(wanted, ["nice", "-n", "10"])


@lie(
    "slow-poll",
    "A kernel thread is to poll for submissions, and it shares its only CPU with the thread that it serves and "
    "with two neighbours.",
    "cpu-taken",
)
def slow_poll(room: Room) -> Outcome:
    wanted = job(room.place, klass(path="io_uring+direct+sqpoll", depth=8), **small(), measure_s=1.5)
    with one_cpu(), neighbours.busy(2):
        return program.run(wanted)


@lie(
    "threads-that-see-the-end-late",
    "64 threads on one CPU: each sees the window's edges when it gets its turn.",
    "windows-differ",
)
def see_the_end_late(room: Room) -> Outcome:
    with one_cpu():
        return program.run(job(MEMORY, klass(path="pmem", threads=64), **small(1), measure_s=1.0))


@lie(
    "stopped-in-mid-window",
    "The process is stopped for half a second by a signal (SIGSTOP).",
    "process-stopped",
)
def stopped(room: Room) -> Outcome:
    return during(job(room.folder, measure_s=1.5), lambda run: holds.stopped(run, STILL_S), 0.5)


@lie(
    "stopped-over-the-end",
    "The process is stopped across the window's end, with reads due all the time.",
    "process-stopped",
)
def stopped_over_the_end(room: Room) -> Outcome:
    return during(
        job(room.folder, klass(arrivals=fixed(500)), **small(), measure_s=1.0),
        lambda run: holds.stopped(run, STILL_S),
        0.7,
    )


@lie(
    "frozen-control-group",
    "The control group of the process is frozen for half a second, as when a container is paused.",
    "process-stopped",
)
def frozen_group(room: Room) -> Outcome:
    with groups.freezer() as group:

        def freeze(_: Running) -> None:
            groups.freeze(group, frozen=True)
            time.sleep(STILL_S)
            groups.freeze(group, frozen=False)

        return during(job(room.folder, measure_s=1.5), freeze, 0.5, places.inside(group))


@lie(
    "counters-that-slow-what-they-count",
    "Counters run in the window because somebody insists, and each context switch takes as long as an operation "
    "(two hundred of the kernel's software events play a virtual PMU that traps).",
    "counting-bends",
)
def counters(room: Room) -> Outcome:
    wanted = job(room.folder, klass(), counting="in-window", measure_s=1.0)
    return program.run(wanted, ("env", "ASSAY_PLAY_COUNTERS=hz=2.6e9,events=400"))


@lie(
    "counters-that-count-something-else",
    "A hypervisor's counter of cycles runs at a tenth of the CPU's clock.",
    "counters-disagree",
)
def disagree(room: Room) -> Outcome:
    return program.run(job(room.folder, klass(), measure_s=1.0), ("env", "ASSAY_PLAY_COUNTERS=hz=1e8"))
