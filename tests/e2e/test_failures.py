"""Targets that fail, fill up or vanish: a sentence that names it and what to do, and earlier results as they were."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from assay.untyped import Json

from . import places, program
from .jobs import KIB, MIB, dataset, fixed, job, klass, writes


def failed(outcome: program.Outcome, *words: str) -> None:
    """It ended with exit code 1 and a sentence with these words, on both of its ways out."""
    assert outcome.code == 1
    for word in words:
        assert word in outcome.refusal
    assert f"error: {outcome.last['reason']}" in outcome.stderr
    assert f"hint: {outcome.last['fix']}" in outcome.stderr


def fill(place: Path, leave: int) -> None:
    """Fills a file system but for so many bytes, whoever else is writing."""
    facts = os.statvfs(place)
    left = facts.f_bavail * facts.f_frsize - leave
    with (place / "filler").open("wb", buffering=0) as filler, contextlib.suppress(OSError):
        while left > 0:
            left -= filler.write(bytes(min(left, 64 * KIB)))


# No space.


def test_no_space_in_preparation(tmp_path: Path) -> None:
    # Bytes there are plenty; what runs out are inodes, which no plan can see.
    with places.mounted("tmpfs", tmp_path / "small", "-t", "tmpfs", "-o", "size=64m,nr_inodes=4") as place:
        wanted = job(place, klass(path="pread"), datasets=[dataset(size=4 * MIB, files=4)])
        failed(program.run(wanted), "No space left", "free space", str(place))
        assert not list(place.iterdir()), "what was begun is removed"


@pytest.mark.parametrize("path", ["pread", "io_uring", "libaio"])
def test_no_space_in_mid_run(tmp_path: Path, path: str) -> None:
    with places.tmpfs(tmp_path / "small", 64 * MIB) as place:
        log = dataset(size=32 * MIB, layout="grow")
        wal = writes(path=path, pattern={"kind": "sequential"}, size=64 * KIB, arrivals=fixed(200))
        run = program.start(job(place, wal, datasets=[log], measure_s=20, free_percent_at_least=0))
        try:
            assert run.until("interval")
            fill(place, leave=0)
        finally:
            outcome = run.end()
        failed(outcome, "No space left", "free space")
        assert [left.name for left in place.iterdir()] == ["filler"]


# Devices that break.


@pytest.mark.parametrize("path", ["pread+direct", "libaio+direct", "io_uring+direct", "mmap"])
def test_a_device_that_breaks_in_mid_run(tmp_path: Path, path: str) -> None:
    with places.loop(tmp_path / "image", 16 * MIB) as device:
        target = {"id": "main", "kind": "block-device", "members": [str(device.device)]}
        # Slowly and page by page, so that a mapping has pages left that it never saw.
        reads = klass(path=path, arrivals=fixed(400))
        reads["path"]["advice"] = "random"
        found = [dataset(size=16 * MIB, layout="as-found")]
        run = program.start(job(target, reads, datasets=found, measure_s=20))
        try:
            assert run.until("interval")
            os.truncate(device.image, 0)
        finally:
            outcome = run.end()
        failed(outcome, str(device.device), "dmesg")


@pytest.mark.parametrize("path", ["pread", "pread+direct", "mmap", "libaio+direct", "io_uring+direct"])
def test_a_file_that_is_cut_short_in_mid_run(folder: Path, path: str) -> None:
    run = program.start(job(folder, klass(path=path), measure_s=20))
    try:
        assert run.until("interval")
        os.truncate(next(folder.glob("*/*.data")), 0)
    finally:
        outcome = run.end()
    failed(outcome, ".data", "cut short")


@pytest.mark.parametrize("layout", ["written", "grow"])
def test_a_folder_that_vanishes_in_mid_run(folder: Path, layout: str) -> None:
    # Files that are open live on without a name: the figures stay true, and nothing is left.
    log = writes(path="pread", pattern={"kind": "sequential"}, arrivals=fixed(500))
    run = program.start(job(folder, log, datasets=[dataset(size=MIB, layout=layout)], measure_s=1.0))
    try:
        assert run.until("interval")
        shutil.rmtree(folder / "assay-scratch")
    finally:
        outcome = run.end()
    if outcome.code == 0:
        assert outcome.result()["operations"] > 0
    else:
        failed(outcome, "does not exist")


# Places that cannot be written to.


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    failed(program.run(job(tmp_path / "nowhere")), "nowhere", "does not exist")


def test_a_read_only_file_system(tmp_path: Path) -> None:
    with places.tmpfs(tmp_path / "small", 16 * MIB) as place:
        places.tool("mount", "-o", "remount,ro", str(place))
        failed(program.run(job(place, klass(path="pread"))), str(place), "read-only")


@pytest.fixture
def unprivileged() -> Iterator[tuple[list[str], Path, Path]]:
    """How to start somebody else's process, a program that they may run, and a folder that they may enter."""
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("setpriv is not installed")
    with tempfile.TemporaryDirectory(prefix="assay-e2e-") as name:
        base = Path(name)
        base.chmod(0o755)
        copy = base / "assayer"
        shutil.copy(program.ASSAYER, copy)
        copy.chmod(0o755)
        place = base / "measured"
        place.mkdir()
        state = base / "state"
        state.mkdir()
        os.chown(state, 65534, 65534)
        prefix = ["env", f"XDG_STATE_HOME={state}", setpriv, "--reuid=65534", "--regid=65534", "--clear-groups"]
        yield prefix, copy, place
        assert not list(place.iterdir())


def test_no_permission(unprivileged: tuple[list[str], Path, Path]) -> None:
    prefix, copy, place = unprivileged
    failed(program.run(job(place), prefix, copy), str(place), "Permission denied", "right to use")


def test_a_plain_user_can_measure_where_they_may_write(unprivileged: tuple[list[str], Path, Path]) -> None:
    prefix, copy, place = unprivileged
    os.chown(place, 65534, 65534)
    outcome = program.run(job(place, klass(), writes(durability={"kind": "fdatasync", "every": 1})), prefix, copy)
    assert outcome.code == 0
    assert all(result["operations"] > 0 for result in outcome.record["classes"])


def test_a_device_without_permission(unprivileged: tuple[list[str], Path, Path], tmp_path: Path) -> None:
    prefix, copy, _ = unprivileged
    with places.loop(tmp_path / "image", 16 * MIB) as device:
        target = {"id": "main", "kind": "block-device", "members": [str(device.device)]}
        wanted = job(target, datasets=[dataset(size=16 * MIB, layout="as-found")])
        failed(program.run(wanted, prefix, copy), str(device.device), "Permission denied")


# A machine that cannot do it, and jobs that say nothing useful.


def test_what_this_machine_cannot_do_is_exit_code_4(folder: Path) -> None:
    outcome = program.run(job(folder, klass(path="nvme_polled")))
    assert outcome.code == 4
    assert "not possible here" in outcome.refusal


@pytest.mark.parametrize("defect", [{"version": 99}, {"classes": []}, {"seed": "seven"}, {"surprise": 1}])
def test_a_bad_job_is_exit_code_2(folder: Path, defect: Json) -> None:
    outcome = program.run(job(folder) | defect)
    assert outcome.code == 2
    assert outcome.refusal


def test_every_line_is_complete_in_itself(folder: Path) -> None:
    run = program.start(job(folder, measure_s=30))
    try:
        assert run.until("interval", at_s=0.5)
    finally:
        run.close()
    assert [event["event"] for event in run.events[:1]] == ["started"]
    places.tool(str(program.ASSAYER), "scratch", "clean", str(folder))


def test_a_reader_that_leaves_ends_the_run(folder: Path) -> None:
    run = program.start(job(folder, measure_s=60))
    try:
        assert run.until("interval")
        assert run.process.stdout
        run.process.stdout.close()
        code = run.process.wait(timeout=60)
    finally:
        run.close()
    assert code == 1


# A full result disk.

TINY = """
name = "tiny"
title = "Tiny"
question = "Does it work?"
source = "none"
repeats = 3

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


def contents(place: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file()}


def test_a_full_result_disk(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "tiny.toml").write_text(TINY)
    with places.tmpfs(tmp_path / "results", 2 * MIB) as place:
        words = ["run", "tiny.toml", "--on", str(folder), "--no-report", "--out"]
        assert program.assay(*words, str(place / "first"), cwd=tmp_path).returncode == 0
        before = contents(place / "first")
        fill(place, leave=48 * KIB)
        done = program.assay(*words, str(place / "second"), "--json", cwd=tmp_path)
        assert done.returncode == 1
        said = json.loads(done.stdout)
        assert "space" in json.dumps(said)
        assert contents(place / "first") == before
        for record in (place / "second").glob("records/*.json"):
            json.loads(record.read_text())
        # With room again it goes on where it stopped.
        (place / "filler").unlink()
        if (place / "second" / "plan.json").exists():
            again = program.assay("run", "--resume", str(place / "second"), "--no-report", cwd=tmp_path)
            assert again.returncode == 0, again.stderr
            assert len(list((place / "second").glob("records/*.json"))) == 3
