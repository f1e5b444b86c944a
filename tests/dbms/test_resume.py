"""Runs that stopped go on with `--resume`: what was done counts, what broke off is done again, and nothing is twice."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from assay.dbms.grant import Grant
from assay.dbms.progress import Progress
from assay.dbms.tpch import data, run
from assay.dbms.tpch.engine import QueryWish
from assay.record import WorkRecord
from assay.results.files import ResultError
from assay.study.work import load

Json = dict[str, Any]


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "a target"
    folder.mkdir()
    yield folder
    assert list(folder.iterdir()) == [], "something was left behind"


def assay(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "assay", "dbms", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, timeout=300)


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


def test_a_folder_of_an_earlier_version_is_told(tmp_path: Path) -> None:
    Progress(tmp_path / "out", "tpcc", {}).add({"query": "q01"})
    done = assay("tpcc", "--resume", str(tmp_path / "out"), cwd=tmp_path)
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


@pytest.mark.usefixtures("assayer")
@pytest.mark.parametrize("runs", [1, 5])
def test_queries_go_on_with_those_that_are_left(
    target: Path, tmp_path: Path, runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = data.generate(tmp_path / "text", 0.01).folder
    out = tmp_path / "out"
    real = run._query
    seen: list[str] = []

    def stops(job: Any, one: Any, statement: Any, sample: Any) -> None:
        if len(seen) == runs:
            raise KeyboardInterrupt
        seen.append(statement.name)
        real(job, one, statement, sample)

    def order(progress: Progress) -> run.TpchFlags:
        wanted: Json = {"on": [str(target)], "scale": 0.01, "files": files, "queries": [1, 6], "repeats": 2}
        return run.TpchFlags(QueryWish("duckdb"), **wanted, progress=progress)

    monkeypatch.setattr(run, "_query", stops)
    outcome = run.run(order(Progress(out, "tpch", {})))
    assert outcome.exit_code == 3
    assert outcome.goes_on
    assert sum(part["succeeded"] for one in load(out) for part in one["parts"]) == runs
    seen.clear()

    def counts(*given: Any) -> None:
        seen.append(given[2].name)
        real(*given)

    monkeypatch.setattr(run, "_query", counts)
    progress = Progress.resume(out, "tpch")
    outcome = run.run(order(progress))
    assert outcome.exit_code == 0
    assert len(seen) == 8 - runs, "two queries, two protocols, two repeats"
    records = load(out)
    assert len(records) == 2, "the records of the part that stopped are replaced"
    for record in records:
        assert [part["succeeded"] for part in record["parts"]] == [2, 2]
        assert [one["passed"] for one in record["checks"]] == [True, True]
        assert all(len(part["facts"]["times_s"].split()) == 2 for part in record["parts"])
        assert "4 rows" in record["checks"][0]["evidence"]
        assert finished(record)
    assert run.run(order(Progress.resume(out, "tpch"))).records == sorted(records, key=order_of)


def order_of(record: WorkRecord) -> str:
    return str(record["workload"]["parameters"]["protocol"])


def test_a_line_that_was_cut_off_does_not_count_and_does_not_harm(tmp_path: Path) -> None:
    progress = Progress(tmp_path, "tpch", {"scale": "1"})
    progress.add({"query": "q01"})
    (path,) = tmp_path.glob("dbms-*.jsonl")
    with path.open("a") as file:
        file.write('{"query": "q0')
    again = Progress.resume(tmp_path, "tpch")
    assert again.steps == [{"query": "q01"}]
    assert again.asked == {"scale": "1"}
    again.add({"query": "q02"})
    assert [one["query"] for one in Progress.resume(tmp_path, "tpch").steps] == ["q01", "q02"]
    assert Progress.resume(tmp_path, "tpch").done(query="q02")
    assert Progress.resume(tmp_path, "tpch").done(query="q03") is None


def test_a_folder_without_a_run_is_named(tmp_path: Path) -> None:
    Progress(tmp_path, "tpch", {}).add({"query": "q01"})
    with pytest.raises(ResultError, match="holds no run of `assay dbms tpcc`"):
        Progress.resume(tmp_path, "tpcc")
    with pytest.raises(ResultError, match="holds no run"):
        Progress.resume(tmp_path / "nothing", "tpch")


def test_a_name_that_leads_out_of_the_folder_removes_nothing(tmp_path: Path) -> None:
    precious, folder = tmp_path / "precious", tmp_path / "results"
    precious.write_text("mine")
    Progress(folder, "tpch", {}).add({"left": "../precious"})
    with pytest.raises(ResultError, match="lies elsewhere"):
        Progress.resume(folder, "tpch")
    assert precious.read_text() == "mine"
