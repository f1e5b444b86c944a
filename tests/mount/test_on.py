"""`--on mount:...`: a run on a drive that is played, in a folder that is made for it and gone afterwards."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from assay.untyped import Json

from mount.mounted import ROOT, require_fuse

_DRIVE = "mount:fixed:400,200,600"
_STUDY = """
name = "little"
title = "Reads past the page cache"
question = "What does this drive give?"
source = "a test"
targets = ["folder"]
cache = "bypassed"

[datasets.d]
bytes = "4MiB"

[classes.reads]
dataset = "d"
path = "pread+direct"
operation = "read"
pattern = "uniform"
size = "4KiB"
threads = 1
depth = 1

[window]
warmup = 0.0
measure = 0.5
"""

# Played beside other tests' builds it takes minutes; alone seconds.
_LIMIT_S = 400


def assay(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "assay", *map(str, words)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=_LIMIT_S)


@pytest.fixture
def room(tmp_path: Path) -> Path:
    """Where the folders are made; what is left there after a test is a defect."""
    require_fuse()
    room = tmp_path / "room"
    room.mkdir()
    for folder in (room, *room.parents):
        if folder.is_relative_to("/tmp") and folder != Path("/tmp") and folder.stat().st_uid == os.geteuid():
            folder.chmod(0o755)
    return room


def codes(record: Json) -> list[str]:
    return [reason["code"] for reason in record["verdict"]["reasons"]]


def require_nothing_left(room: Path) -> None:
    assert list(room.iterdir()) == []
    assert str(room) not in Path("/proc/self/mountinfo").read_text()


def test_a_study_runs_on_a_played_drive_and_says_so(room: Path, tmp_path: Path) -> None:
    (tmp_path / "little.toml").write_text(_STUDY)
    out = tmp_path / "out"
    done = assay("run", tmp_path / "little.toml", "--on", f"{_DRIVE}@{room}", "--out", out, "--no-report")
    assert done.returncode == 0, done.stderr
    assert "played: reads p50 +" in done.stderr
    record = json.loads(next((out / "records").glob("*.json")).read_text())
    assert record["classes"][0]["ops_rate"]["provenance"] == "emulated"
    assert "emulated-target" in codes(record)
    played = next(reason for reason in record["verdict"]["reasons"] if reason["code"] == "emulated-target")
    assert "reads_late_p99_ns" in played["numbers"]
    assert record["classes"][0]["service"]["p50_ns"] >= 330_000, "what the drive takes, less the way"
    assert assay("report", out).returncode == 0, "the record is one that others read"
    require_nothing_left(room)


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_a_database_runs_on_a_played_drive_and_says_so(room: Path, tmp_path: Path, engine: str) -> None:
    if (
        engine == "postgres"
        and not any(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
        and not shutil.which("initdb")
    ):
        pytest.skip("PostgreSQL is not installed")
    out = tmp_path / "out"
    words = ("--engine", engine, "--small", "--duration", "1s", "--ramp", "0.2s")
    done = assay("dbms", "tpcc", *words, "--on", f"{_DRIVE}@{room}", "--out", out)
    assert done.returncode == 0, done.stderr + done.stdout
    record = json.loads(next((out / "work").glob("*.json")).read_text())
    assert record["targets"][0] == {"role": "data", "target": _DRIVE, "emulated": True}
    assert "emulated-target" in codes(record)
    assert all(figure.get("provenance") != "measured" for figure in record["figures"].values())
    require_nothing_left(room)


def test_a_run_that_fails_leaves_nothing(room: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.toml").write_text("name = 3")
    assert assay("run", tmp_path / "broken.toml", "--on", f"{_DRIVE}@{room}").returncode != 0
    require_nothing_left(room)


def test_a_drive_that_is_none_is_refused_before_anything_is_made(room: Path) -> None:
    done = assay("dbms", "tpcc", "--small", "--on", f"mount:twin:nothing@{room}")
    assert done.returncode == 2
    assert "no drive that can be mounted" in done.stderr
    require_nothing_left(room)
