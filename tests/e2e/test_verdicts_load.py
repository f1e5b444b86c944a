"""Verdicts on the load and on the machine, each provoked for real, each with a quiet counterpart."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import tempfile
import time
from pathlib import Path

import pytest
from assay.untyped import Json

from . import groups, neighbours, places, program
from .jobs import KIB, MIB, dataset, fixed, job, klass, writes
from .neighbours import one_cpu
from .places import Loop

# Depth, rate and the generator.


def test_depth_not_reached(folder: Path) -> None:
    # The kernel does buffered libaio inside the submitting call, whatever depth is asked for.
    reason = program.run(job(folder, klass(path="libaio", depth=32))).reason("depth-not-reached")
    assert reason["numbers"]["asked_depth"] == 32


def test_depth_that_was_reached(folder: Path) -> None:
    # Large reads take the device far longer than submitting them one by one takes the program.
    asked = klass(path="io_uring+direct", depth=4, size=256 * KIB)
    assert "depth-not-reached" not in program.run(job(folder, asked)).codes()


def test_rate_not_reached(folder: Path) -> None:
    reason = program.run(job(folder, klass(arrivals=fixed(50e6)))).reason("rate-not-reached")
    assert reason["numbers"]["achieved_share"] < 0.95


def test_a_rate_that_is_easy_is_reached(folder: Path) -> None:
    assert "rate-not-reached" not in program.run(job(folder, klass(arrivals=fixed(100)), measure_s=1.0)).codes()


def test_generator_late() -> None:
    # Operations that take no time, and neighbours who want the same CPU.
    memory = {"id": "main", "kind": "memory"}
    wanted = job(memory, klass(path="pmem", size=64, arrivals=fixed(500)), datasets=[dataset(size=MIB)], measure_s=1.0)
    with one_cpu(), neighbours.busy(2):
        outcome = program.run(wanted, ["nice", "-n", "10"])
    assert outcome.reason("generator-late")["numbers"]["lateness_share"] > 0.25


def test_a_class_without_a_schedule_is_never_late(folder: Path) -> None:
    with one_cpu(), neighbours.busy(2):
        assert "generator-late" not in program.run(job(folder)).codes()


def test_generator_bound() -> None:
    # Tiny reads of a single page: what is measured is mostly the generator. A mebibyte would be too much: a neighbour
    # on the same core drives it out of the caches that are near, and then most of the time is the memory's.
    memory = {"id": "main", "kind": "memory"}
    outcome = program.run(job(memory, klass(path="pmem", size=64), datasets=[dataset(size=4 * KIB)]))
    numbers = outcome.reason("generator-bound")["numbers"]
    assert numbers["thread_ops_per_s"] < 2 * numbers["null_ops_per_s"]


def test_a_disk_sets_the_pace_itself(folder: Path) -> None:
    assert "generator-bound" not in program.run(job(folder)).codes()


# The window.


def test_window_too_short(folder: Path) -> None:
    assert "less than a second" in program.run(job(folder, measure_s=0.2)).reason("window-too-short")["evidence"]


def test_window_too_short_for_the_percentile_that_decides(folder: Path) -> None:
    reads = klass(arrivals=fixed(200), objective={"metric": "p999_ns", "bound": 1e12})
    assert "p99.9" in program.run(job(folder, reads, measure_s=1.0)).reason("window-too-short")["evidence"]


def test_a_window_of_a_second_with_many_operations_is_long_enough(folder: Path) -> None:
    assert "window-too-short" not in program.run(job(folder, measure_s=1.0)).codes()


def test_windows_differ(folder: Path) -> None:
    # More operations that wait for a CPU than there are CPUs: some see the window's end late.
    memory = {"id": "main", "kind": "memory"}
    reads = klass(path="pmem", size=4 * KIB, threads=64)
    with one_cpu():
        outcome = program.run(job(memory, reads, datasets=[dataset(size=MIB)]))
    assert outcome.reason("windows-differ")["numbers"]["edge_skew_ns"] > 0


def falls_in_mid_window(device: Loop, place: Path) -> program.Outcome:
    with places.throttled(device.device, reads_per_s=800) as group:
        run = program.start(job(place, klass(), measure_s=2.0), places.inside(group))
        try:
            run.until("interval", at_s=1.0)
            places.limit(group, device.device, reads_per_s=150)
        finally:
            outcome = run.end()
    return outcome


def test_steadiness_lost(own_disk: tuple[Loop, Path]) -> None:
    # The device falls to a lower level in mid-window, as one does whose write cache is full. Where the kernel lets a
    # limit's tokens out in bursts, or a neighbour takes the CPU, no level is there to be lost, and it is `not-steady`.
    for _ in range(4):
        outcome = falls_in_mid_window(*own_disk)
        if "steadiness-lost" in outcome.codes():
            break
    reason = outcome.reason("steadiness-lost")
    assert reason["numbers"]["kept_share"] < 0.7


def test_not_steady(own_disk: tuple[Loop, Path]) -> None:
    # The device speeds up in steps: no level lasts, and none is lost.
    device, place = own_disk
    with places.throttled(device.device, reads_per_s=100) as group:
        run = program.start(job(place, klass(), measure_s=2.0), places.inside(group))
        try:
            for step in range(1, 9):
                if run.until("interval", at_s=0.2 * step) is not None:
                    places.limit(group, device.device, reads_per_s=100 + 150 * step)
        finally:
            outcome = run.end()
    numbers = outcome.reason("not-steady")["numbers"]
    assert numbers.get("spread_share", 0) > 0 or numbers["after"] > numbers["before"]


def test_a_level_that_lasts_is_steady(own_disk: tuple[Loop, Path]) -> None:
    device, place = own_disk
    with places.throttled(device.device, reads_per_s=400) as group:
        outcome = program.run(job(place, klass(), measure_s=2.0, window={"warmup_s": 0.3}), places.inside(group))
    assert not outcome.codes() & {"not-steady", "steadiness-lost"}


# Limits that somebody has set.


def test_limit_met(own_disk: tuple[Loop, Path]) -> None:
    # The device could do a hundred times as much.
    device, place = own_disk
    with places.throttled(device.device, reads_per_s=400) as group:
        outcome = program.run(job(place, klass(), measure_s=2.0, window={"warmup_s": 0.3}), places.inside(group))
    reason = outcome.reason("limit-met")
    assert device.name in reason["evidence"]
    assert reason["numbers"]["limit_per_s"] == 400
    [limit] = [one for one in outcome.record["environment"]["limits"] if one["device"] == device.name]
    assert limit["setting"] == "blkio.throttle.read_iops_device"


def test_a_limit_that_is_far_away_is_not_met(own_disk: tuple[Loop, Path]) -> None:
    device, place = own_disk
    with places.throttled(device.device, reads_per_s=100_000) as group:
        slow = klass(arrivals=fixed(200))
        outcome = program.run(job(place, slow, measure_s=0.5), places.inside(group))
    assert "limit-met" not in outcome.codes()
    assert [one for one in outcome.record["environment"]["limits"] if one["device"] == device.name]


def test_interrupted(folder: Path) -> None:
    run = program.start(job(folder, measure_s=60))
    try:
        run.until("interval", at_s=0.3)
        run.signal(signal.SIGINT)
    finally:
        outcome = run.end()
    assert outcome.code == 3
    reason = outcome.reason("interrupted")
    assert 0 < reason["numbers"]["measured_s"] < reason["numbers"]["asked_s"] == 60
    assert outcome.result()["operations"] > 0


def test_a_run_that_nobody_interrupts_says_nothing_of_it(folder: Path) -> None:
    outcome = program.run(job(folder))
    assert outcome.code == 0
    assert "interrupted" not in outcome.codes()


# Others on the machine.


def test_foreign_load(own_disk: tuple[Loop, Path]) -> None:
    device, place = own_disk
    with neighbours.reader(device.device):
        outcome = program.run(job(place, klass(arrivals=fixed(200)), measure_s=1.0))
    reason = outcome.reason("foreign-load")
    assert device.name in reason["evidence"]
    assert reason["numbers"]["foreign_read_bytes"] > 0


def test_a_device_of_its_own_has_no_foreign_load(own_disk: tuple[Loop, Path]) -> None:
    both = [klass(), writes(durability={"kind": "fdatasync", "every": 8})]
    assert "foreign-load" not in program.run(job(own_disk[1], *both, measure_s=1.0)).codes()


def test_frequency_changed_by_a_cpu_quota() -> None:
    memory = {"id": "main", "kind": "memory"}
    with groups.cpu_quota(0.3) as group:
        wanted = job(memory, klass(path="pmem"), datasets=[dataset(size=MIB)])
        outcome = program.run(wanted, places.inside(group))
    reason = outcome.reason("frequency-changed", "the CPU quota")
    assert reason["numbers"]["throttled_s"] > 0


def test_without_a_quota_nobody_was_throttled() -> None:
    memory = {"id": "main", "kind": "memory"}
    found = program.run(job(memory, klass(path="pmem"), datasets=[dataset(size=MIB)])).reasons()
    assert not [reason for reason in found if "throttled_s" in reason["numbers"]]


def was_taken(record: Json) -> Json:
    """The reason that others took the CPUs; the test ends where this machine hides that, and the record says so."""
    untold = [one for one in record["not_measured"] if one["what"] == "CPU time that other processes took"]
    if untold:
        assert "could not be told" in untold[0]["reason"]
        pytest.skip(untold[0]["reason"])
    reasons: list[Json] = record["verdict"]["reasons"]
    quota = [one["evidence"] for one in reasons if "throttled_s" in one.get("numbers", {})]
    if quota:
        pytest.skip(f"the busy processes used up the quota of CPU time that they share with the run: {quota[0]}")
    found = [one for one in reasons if one["code"] == "cpu-taken"]
    assert found, f"{os.cpu_count()} CPUs, {[(one['code'], one['evidence']) for one in reasons]}"
    assert record["verdict"]["status"] != "valid"
    assert found[0]["numbers"]["taken_share"] >= 0.1
    return found[0]


def crowd() -> contextlib.AbstractContextManager[None]:
    """Busy processes, two for each CPU."""
    return neighbours.busy(2 * len(os.sched_getaffinity(0)))


def test_cpu_taken_from_a_load_in_memory() -> None:
    memory = {"id": "main", "kind": "memory"}
    wanted = job(memory, klass(path="pmem", threads=2), datasets=[dataset(size=MIB)], measure_s=1.5)
    with crowd():
        outcome = program.run(wanted)
    reason = was_taken(outcome.record)
    assert "other processes used" in reason["evidence"]
    assert "top" in reason["fix"]


def test_cpu_taken_from_an_index_whose_threads_end_before_the_window_is_closed(tmp_path: Path) -> None:
    usual = ("--index", "fptree", "--keys", "5000", "--workload", "lookup", "--threads", "2")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory, crowd():
        done = program.assay("index", "run", *usual, "--on", memory, "--duration", "1.5s", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    was_taken(json.loads(done.stdout)["records"][0])


def test_threads_that_compete_with_each_other_are_nobodys_fault() -> None:
    # The machine is not quiet because a test wants it so: what is said must fit what others did.
    memory = {"id": "main", "kind": "memory"}
    reads = klass(path="pmem", threads=8 * len(os.sched_getaffinity(0)))
    found = program.run(job(memory, reads, datasets=[dataset(size=MIB)], measure_s=1.5)).reasons()
    for reason in found:
        if reason["code"] == "cpu-taken":
            numbers = reason["numbers"]
            assert numbers["taken_s"] <= numbers["others_cpu_s"] < numbers["waited_s"]


def test_the_clock_agrees_with_the_kernels(folder: Path) -> None:
    """What a clock does that is wrong, the gallery of lies shows (tests/lies/stages/clocks.py)."""
    outcome = program.run(job(folder))
    assert "clock-unreliable" not in outcome.codes()
    assert abs(outcome.record["window"]["clock_drift"]) < 0.001


STUDY = """
name = "noise"
title = "Repeats"
question = "Do repeats agree?"
source = "none"
targets = ["memory"]
repeats = 2

[datasets.data]
bytes = "1MiB"

[classes.reads]
dataset = "data"
path = "pmem"
operation = "read"
pattern = "uniform"
size = "4KiB"

[window]
measure = "1s"
"""


def records(out: Path) -> list[Json]:
    return [json.loads(path.read_text()) for path in sorted((out / "records").glob("*.json"))]


def test_noisy_machine(tmp_path: Path) -> None:
    # The second repeat shares its CPU with neighbours, the first does not.
    (tmp_path / "noise.toml").write_text(STUDY)
    out = tmp_path / "out"
    with one_cpu(), contextlib.ExitStack() as stack:
        words = ["run", "noise.toml", "--on", "memory", "--out", str(out), "--no-report"]
        process = program.start_assay(*words, cwd=tmp_path)
        end = time.monotonic() + 60
        while not list(out.glob("records/*.json")) and process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        stack.enter_context(neighbours.busy(6, apart=True))
        said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    found = [reason for record in records(out) for reason in record["verdict"]["reasons"]]
    noisy = [reason for reason in found if reason["code"] == "noisy-machine"]
    assert len(noisy) == 2, "both repeats carry it"
    assert noisy[0]["numbers"]["spread_ratio"] > 0.15


# Reasons that only twins give; tests/twin provokes them.
OF_TWINS = {"_modelled_target", "_extrapolated", "_costs_unsteady", "_engines_differ"}
# What only a mount gives; tests/mount provokes it.
OF_MOUNTS = {"_played_late"}
# Reasons that need what few machines have: a drive with a sensor. The kernel's files are played in Rust.
OF_MACHINES = {"_device_hot"}


def test_every_reason_has_a_test_here() -> None:
    source = (program.ROOT / "crates/record/src/verdict.rs").read_text()
    body = source.split("pub enum ReasonCode {")[1].split("\n}")[0]
    names = [line.strip().rstrip(",") for line in body.splitlines() if line.strip() and "///" not in line]
    tests = "".join(path.read_text() for path in Path(__file__).parent.glob("test_verdicts_*.py"))
    lies = "".join(path.read_text() for path in (program.ROOT / "tests" / "lies" / "stages").glob("*.py"))
    lies += (Path(__file__).parent / "test_overdue.py").read_text()
    wanted = ["".join("_" + c.lower() if c.isupper() else c for c in name) for name in names]
    missing = [
        name
        for name in wanted
        if name not in OF_TWINS | OF_MOUNTS | OF_MACHINES
        and f"def test{name}" not in tests
        and f"_are{name}" not in tests
        # A reason that the gallery of lies provokes needs no second provocation.
        and f'"{name.strip("_").replace("_", "-")}"' not in lies
    ]
    assert len(names) > 20
    assert not missing
