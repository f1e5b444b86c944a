"""Verdicts on the data and on where they came from, each provoked for real, each with a quiet counterpart."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from assay.untyped import Json

from . import places, program
from .jobs import KIB, MIB, dataset, fixed, job, klass, writes
from .places import Loop


def file_target(path: Path) -> Json:
    """A file of somebody's, as target."""
    return {"id": "main", "kind": "file", "members": [str(path)]}


def as_found(path: Path, *classes: Json, **more: Any) -> Json:
    """A job that reads a file of somebody's."""
    found = dataset(size=path.stat().st_size, layout="as-found")
    return job(file_target(path), *classes, datasets=[found], **more)


def written(path: Path, content: bytes) -> Path:
    """Somebody's file, on disk."""
    with path.open("wb") as file:
        file.write(content)
        os.fsync(file.fileno())
    return path


# The page cache.


@pytest.fixture(scope="module")
def small_reads() -> Json:
    """Buffered reads of a file that the warm-up brings into memory."""
    return klass(path="pread", size=64 * KIB)


def test_page_cache_served_a_cold_read(folder: Path, small_reads: Json) -> None:
    wanted = job(folder, small_reads, cache="cold", datasets=[dataset(size=4 * MIB)], window={"warmup_s": 0.3})
    reason = program.run(wanted).reason("page-cache-served")
    assert reason["severity"] == "invalid"
    assert reason["numbers"]["served_share"] > 0.2


def test_direct_reads_are_not_taken_for_the_page_cache(folder: Path) -> None:
    found = program.run(job(folder, klass(), cache="bypassed", datasets=[dataset(size=32 * MIB)])).codes()
    assert not found & {"page-cache-served", "file-smaller-than-caches", "cache-not-warm"}


def test_file_smaller_than_caches(folder: Path, small_reads: Json) -> None:
    outcome = program.run(job(folder, small_reads, datasets=[dataset(size=4 * MIB)], window={"warmup_s": 0.2}))
    reason = outcome.reason("file-smaller-than-caches")
    assert reason["numbers"]["dataset_bytes"] == 4 * MIB < reason["numbers"]["memory_bytes"]


def test_a_warm_cache_that_was_asked_for_is_no_fault(folder: Path, small_reads: Json) -> None:
    found = program.run(job(folder, small_reads, cache="warm", datasets=[dataset(size=4 * MIB)])).codes()
    assert not found & {"page-cache-served", "file-smaller-than-caches", "cache-not-warm"}


def test_cache_not_warm(own_disk: tuple[Loop, Path]) -> None:
    # Somebody drops the file from memory faster than it is read.
    reads = klass(path="pread", size=64 * KIB, arrivals=fixed(300))
    wanted = job(own_disk[1], reads, cache="warm", datasets=[dataset(size=16 * MIB)])
    run = program.start(wanted)
    try:
        run.until("interval")
        with next(own_disk[1].glob("*/*.data")).open("rb") as file:
            end = time.monotonic() + 0.5
            while time.monotonic() < end:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                time.sleep(0.01)
    finally:
        outcome = run.end()
    assert outcome.reason("cache-not-warm")["numbers"]["device_share"] > 0.01


# Extents.


def test_reads_of_holes_are_unwritten_extents(tmp_path: Path) -> None:
    path = written(tmp_path / "table", os.urandom(8 * MIB))
    punch = ["fallocate", "--punch-hole", "--offset", str(2 * MIB), "--length", str(4 * MIB), str(path)]
    if subprocess.run(punch, capture_output=True, check=False).returncode != 0:
        pytest.skip("the file system of the temporary folder cannot punch holes")
    before = path.read_bytes()
    reason = program.run(as_found(path)).reason("unwritten-extents")
    assert reason["severity"] == "invalid"
    assert reason["numbers"]["hole_bytes"] == 4 * MIB
    assert path.read_bytes() == before


def test_reads_of_allocated_space_are_unwritten_extents(tmp_path: Path) -> None:
    path = written(tmp_path / "table", os.urandom(4 * MIB))
    grow = ["fallocate", "--offset", str(4 * MIB), "--length", str(4 * MIB), str(path)]
    if subprocess.run(grow, capture_output=True, check=False).returncode != 0:
        pytest.skip("the file system of the temporary folder cannot preallocate")
    assert program.run(as_found(path)).reason("unwritten-extents")["numbers"]["unwritten_bytes"] == 4 * MIB


def test_a_file_that_is_written_in_full_has_no_unwritten_extents(tmp_path: Path) -> None:
    path = written(tmp_path / "table", os.urandom(8 * MIB))
    assert not program.run(as_found(path)).codes() & {"unwritten-extents", "compressible-data"}


# What the bytes look like.


def test_compressible_data_that_was_asked_for(folder: Path) -> None:
    outcome = program.run(job(folder, datasets=[dataset(size=8 * MIB, content="zero")]))
    assert outcome.reason("compressible-data")["severity"] == "suspect"


def test_compressible_data_in_a_file_of_somebodys(tmp_path: Path) -> None:
    path = written(tmp_path / "text", b"It was the best of times, it was the worst of times.\n" * 80_000)
    assert program.run(as_found(path)).reason("compressible-data")["numbers"]["compressed_ratio"] < 0.5


# Errors and corruption.


def test_data_corrupt(folder: Path) -> None:
    # Somebody writes into the file while it is read.
    wanted = job(folder, klass(), datasets=[dataset(size=4 * MIB, content="stamped")], checks={"data": True})
    run = program.start(wanted)
    try:
        run.until("interval")
        with next(folder.glob("*/*.data")).open("r+b") as file:
            file.seek(1 * MIB + 100)
            file.write(b"flipped" * 4096)
            os.fsync(file.fileno())
    finally:
        outcome = run.end()
    reason = outcome.reason("data-corrupt")
    assert reason["severity"] == "invalid"
    check = outcome.result()["check"]
    assert check["wrong"] > 0
    assert check["examples"]


def test_data_that_nobody_touched_is_not_corrupt(folder: Path) -> None:
    wanted = job(folder, klass(), datasets=[dataset(size=4 * MIB, content="stamped")], checks={"data": True})
    outcome = program.run(wanted)
    assert "data-corrupt" not in outcome.codes()
    check = outcome.result()["check"]
    assert check["blocks"] >= outcome.result()["operations"] > 0
    assert check["wrong"] == 0


def test_errors(tmp_path: Path) -> None:
    # A disk whose image loses its second half: reads there fail, reads of the first half go on.
    places.privileged("loop devices")
    with places.loop(tmp_path / "image", 16 * MIB) as device:
        device.image.write_bytes(os.urandom(16 * MIB))
        target = {"id": "main", "kind": "block-device", "members": [str(device.device)]}
        found = dataset(size=16 * MIB, layout="as-found")
        # So few that no worker gives up: the run ends as planned, and its verdict tells.
        run = program.start(job(target, klass(arrivals=fixed(60)), datasets=[found], measure_s=1.0))
        try:
            run.until("interval")
            os.truncate(device.image, 8 * MIB)
        finally:
            outcome = run.end()
    reason = outcome.reason("errors")
    assert outcome.result()["errors"]["EIO"] == reason["numbers"]["failed"] > 0


def test_a_sound_disk_has_no_errors(folder: Path) -> None:
    outcome = program.run(job(folder))
    assert "errors" not in outcome.codes()
    assert not outcome.result().get("errors")


# Stand-in hardware.


def test_emulated_target(tmp_path: Path) -> None:
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        pytest.skip(f"{memory} is not writable")
    wanted = job(memory, klass(path="pmem", size=256), datasets=[dataset(size=8 * MIB)], scratch=f"e2e-{os.getpid()}")
    outcome = program.run(wanted)
    assert outcome.reason("emulated-target")["severity"] == "note"
    assert outcome.result()["bandwidth"]["provenance"] == "emulated"
    assert not list(memory.glob(f"e2e-{os.getpid()}*"))


def test_a_disk_is_not_emulated(folder: Path) -> None:
    outcome = program.run(job(folder))
    assert "emulated-target" not in outcome.codes()
    assert outcome.result()["bandwidth"]["provenance"] == "measured"


# Layers beneath.


def test_page_cache_served_by_a_loop_device(tmp_path: Path) -> None:
    # The loop device is asked for every read; the disk beneath is not.
    with places.disk(tmp_path / "image", tmp_path / "mnt", 128 * MIB, direct=False) as (device, place):
        outcome = program.run(job(place, klass(), measure_s=0.5))
        kinds = [layer["kind"] for layer in outcome.record["environment"]["targets"][0]["layers"]]
    reason = outcome.reason("page-cache-served")
    assert reason["severity"] in ("suspect", "invalid")
    assert device.name in reason["evidence"]
    assert kinds[:3] == ["file-system", "loop", "file-system"]


def test_memory_beneath_takes_writes(tmp_path: Path) -> None:
    with places.disk(tmp_path / "image", tmp_path / "mnt", 128 * MIB, direct=False) as (device, place):
        reason = program.run(job(place, writes(), measure_s=0.5)).reason("memory-beneath")
    assert reason["severity"] in ("suspect", "invalid")
    assert device.name in reason["evidence"]


def test_a_loop_device_with_direct_io_takes_nothing_into_memory(tmp_path: Path) -> None:
    with places.disk(tmp_path / "image", tmp_path / "mnt", 128 * MIB) as (_, place):
        both = klass(operation={"kind": "mix", "write_percent": 50}, size=16 * KIB)
        found = program.run(job(place, both, measure_s=0.5))
    grave = {reason["code"] for reason in found.record["verdict"]["reasons"] if reason["severity"] != "note"}
    assert not grave & {"memory-beneath", "page-cache-served"}


# Bytes of the device.


def test_device_bytes_differ_by_read_ahead(own_disk: tuple[Loop, Path]) -> None:
    # A fault of one page fetches its neighbours as well.
    reads = klass(path="mmap", arrivals=fixed(400))
    wanted = job(own_disk[1], reads, cache="cold", datasets=[dataset(size=160 * MIB)])
    reason = program.run(wanted).reason("device-bytes-differ")
    assert reason["numbers"]["device_bytes"] > reason["numbers"]["asked_bytes"]


def test_device_bytes_differ_when_writes_stay_in_memory(own_disk: tuple[Loop, Path]) -> None:
    outcome = program.run(job(own_disk[1], writes(path="pread"), measure_s=0.3))
    reason = outcome.reason("device-bytes-differ")
    assert reason["severity"] == "suspect"
    assert "page cache" in reason["evidence"]
    assert reason["numbers"]["device_bytes"] < reason["numbers"]["asked_bytes"]


def test_direct_bytes_agree_with_the_kernels_account(own_disk: tuple[Loop, Path]) -> None:
    both = klass(operation={"kind": "mix", "write_percent": 50}, size=16 * KIB)
    outcome = program.run(job(own_disk[1], both, measure_s=0.3))
    assert "device-bytes-differ" not in outcome.codes()
    assert outcome.record["devices"][0]["device"] == own_disk[0].name


# Checks of the work itself.


def tpcc(folder: Path, **order: Any) -> tuple[int, Json]:
    """Exit code and record of a short TPC-C on SQLite."""
    scale = {"warehouses": 1, "items": 100, "customers": 20}
    drive = {"terminals": 1, "ramp_s": 0.0, "measure_s": 0.3}
    wanted: Json = {
        "store": {"sqlite": {"path": str(folder / "tpcc.sqlite")}},
        "order": {"scale": scale, "load": True, "drive": drive, "check": True, **order},
    }
    command = [str(program.ASSAYER), "tpcc", "-"]
    done = subprocess.run(command, input=json.dumps(wanted), capture_output=True, text=True, check=False, timeout=120)
    last = json.loads(done.stdout.splitlines()[-1])
    assert last["event"] == "worked", done.stdout + done.stderr
    return done.returncode, last["record"]


def test_check_failed_where_a_row_was_spoilt(tmp_path: Path) -> None:
    code, record = tpcc(tmp_path, spoil=12)
    reason = record["verdict"]["reasons"][0]
    assert (code, record["verdict"]["status"], reason["code"]) == (1, "invalid", "check-failed")
    assert "consistency-12" in reason["evidence"]


def test_checks_that_hold_are_not_taken_for_failed_ones(tmp_path: Path) -> None:
    code, record = tpcc(tmp_path)
    assert code == 0
    assert not [one for one in record["verdict"]["reasons"] if one["code"] == "check-failed"]
