"""Our own stores on a drive whose power is cut: `assayer soak` works there, and checks what is left."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from mount.mounted import ROOT, mounted, require_fuse

Json = dict[str, Any]

_ASSAYER = ROOT / "target" / "release" / "assayer"
# Slow enough for a busy machine: the way through FUSE alone took 80 us beside a build.
_DRIVE = "fixed:600,400,800"


def soak(action: str, job: Json) -> subprocess.Popen[str]:
    command = [str(_ASSAYER), "soak", action, "-"]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, text=True)
    assert process.stdin is not None
    process.stdin.write(json.dumps(job))
    process.stdin.close()
    process.stdin = None
    return process


def worked_until_the_cut(tmp_path: Path, job: Json, seed: int) -> None:
    """A process works until the power goes; that one is the end of it, too."""
    shutil.rmtree(tmp_path / "files", ignore_errors=True)
    with mounted(tmp_path, _DRIVE, seed=seed, cut="on_signal") as one:
        process = soak("work", job)
        try:
            wait_for(Path(job["journal"]), process, 20 + 15 * seed)
            os.kill(one.pid, signal.SIGUSR1)
            wait_for_death(tmp_path / "mnt")
        finally:
            process.kill()
            process.communicate()
        one.end()


def wait_for(journal: Path, process: subprocess.Popen[str], lines: int) -> None:
    """Until so much is acknowledged."""
    for _ in range(4000):
        if journal.is_file() and journal.read_bytes().count(b"\n") >= lines:
            return
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.005)
    pytest.fail("nothing is acknowledged")


def wait_for_death(at: Path) -> None:
    """Until nothing is answered any more."""
    for _ in range(1000):
        with contextlib.suppress(FileExistsError):
            try:
                (at / f"new-{time.monotonic_ns()}").touch()
            except OSError:
                return
        time.sleep(0.005)
    pytest.fail("the power is not cut")


def checked(tmp_path: Path, job: Json) -> tuple[int, str]:
    """What the check says of what is left, at the place where it was."""
    with mounted(tmp_path, "pass"):
        process = soak("check", job)
        said, _ = process.communicate(timeout=60)
    return process.returncode, said


def wanted(tmp_path: Path, store: str, **more: Any) -> Json:
    (tmp_path / "mnt").mkdir()
    usual = {"version": 1, "name": store, "store": store, "place": str(tmp_path / "mnt"), "threads": 2, "keys": 64}
    return usual | {"journal": str(tmp_path / "journal")} | more


def require_programs() -> None:
    require_fuse()
    if not _ASSAYER.with_name("assayer-db").is_file():
        pytest.skip("assayer-db is not built; cargo build --release -p assayer-db")


@pytest.mark.parametrize("store", ["engine", "ssd-btree"])
@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_that_a_store_of_ours_acknowledged_is_missing(tmp_path: Path, store: str, seed: int) -> None:
    require_programs()
    job = wanted(tmp_path, store)
    worked_until_the_cut(tmp_path, job, seed)
    code, said = checked(tmp_path, job)
    assert code == 0, f"seed {seed}: {said}"


def test_an_engine_that_makes_nothing_durable_is_caught(tmp_path: Path) -> None:
    require_programs()
    job = wanted(tmp_path, "engine", durability="none")
    worked_until_the_cut(tmp_path, job, 3)
    code, said = checked(tmp_path, job)
    assert code == 1, said
