"""Runs that stopped go on with `--resume`: what was done counts, what broke off is done again, and nothing is twice."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import warm
from assay.dbms.grant import Grant
from assay.record import WorkRecord
from assay.study.work import load


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "a target"
    folder.mkdir()
    yield folder
    assert list(folder.iterdir()) == [], "something was left behind"


def assay(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return warm.assay(["dbms", *words], cwd=cwd)


@pytest.mark.usefixtures("assayer")
def test_transactions_go_on_with_the_runs_that_are_left(target: Path, tmp_path: Path) -> None:
    words = ["--small", "--duration", "500ms", "--ramp", "100ms", "--repeats", "3", "--on", target.name]
    command = [sys.executable, "-m", "assay", "dbms", "tpcc", *words, "--out", "out"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, cwd=tmp_path) as stops:
        assert stops.stderr is not None
        for line in stops.stderr:
            if line.startswith("[1/3]"):
                break
        stops.send_signal(signal.SIGKILL)
        stops.communicate(timeout=120)
    assert stops.returncode == -signal.SIGKILL
    before = [one for one in load(tmp_path / "out") if one["verdict"]["status"] != "invalid" and finished(one)]
    assert len(before) in (1, 2), "the signal comes at any moment of the second run"
    more = assay("tpcc", "--resume", str(tmp_path / "out"), "--terminals", "4", cwd=target)
    assert more.returncode == 2
    assert "--terminals would change it" in more.stderr
    done = assay("tpcc", "--resume", str(tmp_path / "out"), "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    records = json.loads(done.stdout)
    assert len(records) == 3
    assert all(finished(one) for one in records)
    assert {one["run"]["id"] for one in before} < {one["run"]["id"] for one in records}
    assert {one["run"]["id"] for one in load(tmp_path / "out")} == {one["run"]["id"] for one in records}
    again = assay("tpcc", "--resume", str(tmp_path / "out"), "--json", cwd=target)
    assert json.loads(again.stdout) == records, "what is complete is shown, and not run"
    assert again.returncode == 0


@pytest.mark.parametrize("command", ["tpcc", "tpch"])
def test_a_folder_of_an_earlier_version_is_told(tmp_path: Path, command: str) -> None:
    (tmp_path / "out").mkdir()
    lines = [{"version": 1, "command": command, "cwd": "/", "asked": {}}, {"query": "q01"}]
    progress = tmp_path / "out" / "dbms-20260101T000000-a1b2c3.jsonl"
    progress.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    done = assay(command, "--resume", str(tmp_path / "out"), cwd=tmp_path)
    assert done.returncode == 2
    assert "was begun by an earlier version" in done.stderr


@pytest.mark.usefixtures("assayer")
@pytest.mark.parametrize("flag", ["pg_bin", "external"])
def test_a_result_folder_names_no_programs_and_gives_no_leave(
    begun: Callable[..., None], target: Path, tmp_path: Path, flag: str
) -> None:
    given = {"pg_bin": Grant(pg_bin=Path("/nowhere")), "external": Grant(external=True)}[flag]
    begun({"engine": "postgres", "small": True}, target, tmp_path / "out", given)
    done = assay("tpcc", "--resume", str(tmp_path / "out"), cwd=tmp_path)
    assert done.returncode != 0
    assert f"this run was begun with --{flag.replace('_', '-')}" in done.stderr
    done = assay("tpcc", "--resume", str(tmp_path / "out"), "--connect", "host=/nowhere", cwd=tmp_path)
    assert done.returncode != 0
    assert "was begun with" in done.stderr


@pytest.mark.usefixtures("assayer")
def test_a_target_that_is_gone_is_named(begun: Callable[..., None], tmp_path: Path) -> None:
    (tmp_path / "drive").mkdir()
    begun({"small": True}, tmp_path / "drive", tmp_path / "out", Grant())
    (tmp_path / "drive").rmdir()
    done = assay("tpcc", "--resume", str(tmp_path / "out"), cwd=tmp_path)
    assert done.returncode == 4
    assert "drive, where the run works, is gone" in done.stderr
    other = assay("wtperf", "--resume", str(tmp_path / "out"), cwd=tmp_path)
    assert other.returncode == 2
    assert "holds no run of `assay dbms wtperf`" in other.stderr


def finished(record: WorkRecord) -> bool:
    return "interrupted" not in {one["code"] for one in record["verdict"]["reasons"]}
