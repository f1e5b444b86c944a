"""What must never happen: somebody's data overwritten, somebody's files removed, a disk filled up."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from assay.untyped import Json

from . import places, program
from .jobs import MIB, dataset, job, klass, writes
from .places import Loop


def block(device: Path, **more: object) -> Json:
    """A block device as target; by default with all that allows writes but the serial number."""
    return {"id": "main", "kind": "block-device", "members": [str(device)], "yes_destroy": True} | more


def refused(wanted: Json) -> str:
    """The refusal of a job that must not run; it is an ordinary failure."""
    outcome = program.run(wanted)
    assert outcome.code == 1
    return outcome.refusal


def write_to(device: Path, **more: object) -> Json:
    """A job that writes to a device."""
    return job(block(device, **more), writes(), datasets=[dataset(size=4 * MIB)], measure_s=0.2)


@pytest.fixture
def device(tmp_path: Path) -> Iterator[Loop]:
    """A loop device with bytes that must stay."""
    with places.loop(tmp_path / "image", 32 * MIB) as device:
        yield device


# Devices.


def test_a_free_device_is_written_to_when_path_and_serial_are_right(device: Loop) -> None:
    outcome = program.run(write_to(device.device, serials=[device.serial]))
    assert outcome.code == 0
    assert outcome.result()["writes"] > 0
    assert "already" not in outcome.stderr


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, "--serial"),
        ({"serials": ["WRONG"]}, "WRONG"),
        ({"serials": None, "yes_destroy": False}, "--yes-destroy"),
    ],
    ids=["no serial", "wrong serial", "not confirmed"],
)
def test_a_device_that_was_not_confirmed_is_refused(device: Loop, more: Json, said: str) -> None:
    if more.get("serials", 0) is None:
        more = more | {"serials": [device.serial]}
    device.image.write_bytes(os.urandom(32 * MIB))
    before = device.image.read_bytes()
    assert said in refused(write_to(device.device, **more))
    assert device.image.read_bytes() == before


def test_a_mounted_device_is_refused_even_with_its_serial(device: Loop, tmp_path: Path) -> None:
    places.tool("mkfs.ext4", "-q", str(device.device))
    link = tmp_path / "by-id"
    link.symlink_to(device.device)
    with places.mounted(str(device.device), tmp_path / "mnt") as place:
        (place / "precious").write_text("all I have")
        said = refused(write_to(link, serials=[device.serial]))
        assert "mounted" in said
        guard = program.document("guard", str(link), accepted=(4,))
        assert any("mounted" in use["reason"] for use in guard["in_use"])
        assert (place / "precious").read_text() == "all I have"


def test_a_device_with_a_file_system_is_refused_although_nobody_mounts_it(device: Loop) -> None:
    places.tool("mkfs.ext4", "-q", str(device.device))
    said = refused(write_to(device.device, serials=[device.serial]))
    assert "ext" in said
    assert "wipefs" in said


def test_a_partitioned_device_is_refused(device: Loop) -> None:
    with device.device.open("r+b") as disk:
        disk.seek(446)
        disk.write(bytes([0, 0, 0, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 0, 1, 0]))
        disk.seek(510)
        disk.write(b"\x55\xaa")
        os.fsync(disk.fileno())
    assert "partition" in refused(write_to(device.device, serials=[device.serial]))


def test_swap_is_refused(device: Loop) -> None:
    places.tool("mkswap", str(device.device))
    places.tool("swapon", str(device.device))
    try:
        assert "swap" in refused(write_to(device.device, serials=[device.serial]))
    finally:
        subprocess.run(["swapoff", str(device.device)], check=True)


def test_a_device_that_another_holds_is_refused(device: Loop) -> None:
    held = os.open(device.device, os.O_RDWR | os.O_EXCL)
    try:
        assert "exclusive use" in refused(write_to(device.device, serials=[device.serial]))
    finally:
        os.close(held)


def test_the_command_line_asks_for_serial_and_permission_too(device: Loop, tmp_path: Path) -> None:
    words = ["run", "raw-depth", "--profile", "quick", "--on", str(device.device), "--out", str(tmp_path / "out")]
    done = program.assay(*words, "--json", cwd=tmp_path)
    assert done.returncode == 2
    error = json.loads(done.stdout)["error"]
    assert "destroys" in error["message"]
    assert "--serial" in error["hint"]
    assert not (tmp_path / "out").exists()


# Files and folders.


def test_a_file_of_somebodys_is_never_written(tmp_path: Path) -> None:
    path = tmp_path / "table"
    path.write_bytes(b"precious" * 512 * 1024)
    target = {"id": "main", "kind": "file", "members": [str(path)]}
    found = [dataset(size=4 * MIB, layout="as-found")]
    assert program.run(job(target, writes(), datasets=found)).code in (1, 2)
    assert path.read_bytes() == b"precious" * 512 * 1024


def test_a_scratch_folder_of_somebodys_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "assay-scratch").mkdir()
    (tmp_path / "assay-scratch" / "diary").write_text("mine")
    assert "not made by Assay" in refused(job(tmp_path))
    assert (tmp_path / "assay-scratch" / "diary").read_text() == "mine"


def test_two_runs_do_not_share_a_scratch_folder(folder: Path) -> None:
    first = program.start(job(folder, measure_s=30))
    try:
        assert first.until("interval")
        assert "measures there" in refused(job(folder))
        first.signal(signal.SIGINT)
    finally:
        outcome = first.end()
    assert outcome.code == 3
    assert outcome.result()["operations"] > 0


def test_free_space_that_would_fall_under_5_percent_is_refused(tmp_path: Path) -> None:
    with places.tmpfs(tmp_path / "small", 64 * MIB) as place:
        said = refused(job(place, klass(path="pread"), datasets=[dataset(size=62 * MIB)]))
        assert "5 %" in said
        assert "62.0 MiB" in said
        assert not list(place.iterdir())


# Kills.


def killed(folder: Path, **changes: object) -> None:
    """A run that is killed in its window; its scratch folder stays."""
    run = program.start(job(folder, measure_s=30) | changes)
    try:
        assert run.until("interval")
    finally:
        run.close()
    assert run.process.returncode == -signal.SIGKILL


def test_what_a_killed_run_left_is_found_and_removed_and_nothing_else(folder: Path) -> None:
    (folder / "table").write_text("somebody's")
    killed(folder)
    [found] = program.document("scratch", "list", str(folder))
    assert not found["alive"]
    assert found["bytes"] >= 32 * MIB
    done = program.assay("clean", str(folder), "--json", cwd=folder)
    assert done.returncode == 0
    assert len(json.loads(done.stdout)) == 1
    assert [path.name for path in folder.iterdir()] == ["table"]
    (folder / "table").unlink()


def test_a_foreign_file_in_the_scratch_folder_survives(folder: Path) -> None:
    killed(folder)
    scratch = folder / "assay-scratch"
    (scratch / "diary").write_text("mine")
    done = program.assay("clean", str(folder), cwd=folder)
    assert done.returncode == 0
    assert "diary" in done.stdout
    assert (scratch / "diary").read_text() == "mine"
    assert not list(scratch.glob("*.data"))
    shutil.rmtree(scratch)


def test_the_next_run_takes_over_what_a_killed_one_left(folder: Path) -> None:
    killed(folder)
    outcome = program.run(job(folder))
    assert outcome.code == 0


def test_what_a_killed_study_left_is_offered_at_the_next_start(folder: Path, tmp_path: Path) -> None:
    killed(folder, scratch="assay-before")
    (tmp_path / "tiny.toml").write_text(TINY)
    words = ["run", "tiny.toml", "--on", str(folder), "--out", str(tmp_path / "out"), "--no-report"]
    done = program.assay(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"`assay clean {folder}`" in done.stderr + done.stdout


TINY = """
name = "tiny"
title = "Tiny"
question = "Does it work?"
source = "none"

[datasets.data]
bytes = "4MiB"

[classes.reads]
dataset = "data"
path = "pread+direct"
operation = "read"
pattern = "uniform"
size = "4KiB"

[window]
measure = "200ms"
"""


def test_an_interrupt_in_preparation_leaves_nothing(folder: Path) -> None:
    run = program.start(job(folder, datasets=[dataset(size=1024 * MIB)]))
    try:
        assert run.until("progress")
        run.signal(signal.SIGINT)
    finally:
        outcome = run.end()
    assert outcome.code == 3
    assert "interrupted" in outcome.refusal


def test_a_second_interrupt_stops_at_once(folder: Path) -> None:
    # The first is answered at the next operation; a worker that waits for its schedule does not see it before.
    run = program.start(job(folder, measure_s=60))
    try:
        assert run.until("interval")
        run.signal(signal.SIGINT)
        time.sleep(0.01)
        run.signal(signal.SIGINT)
    finally:
        outcome = run.end()
    assert outcome.code == 3
    program.document("scratch", "clean", str(folder))
