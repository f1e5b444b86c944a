"""Runs of TPC-H through the command line: every answer checked, nothing left behind, whatever happens."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
import warm
from assay import home
from assay.dbms.place import _PREFIX as PREFIX
from assay.dbms.tpch import answers, contrast, data, engines
from assay.dbms.tpch.embedded import DuckDB, EngineError, QueryError
from assay.dbms.tpch.engine import QueryWish
from assay.error import AssayError
from assay.study.run import Summary
from assay.untyped import Json

pytestmark = pytest.mark.usefixtures("assayer")


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Path]:
    """A folder for databases; after each test it must be as empty as it was."""
    folder = tmp_path / "a target"
    folder.mkdir()
    yield folder
    assert list(folder.iterdir()) == []


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of scale factor 0.01."""
    return data.generate(tmp_path_factory.mktemp("text"), 0.01).folder


def assay(*words: str, cwd: Path) -> tuple[int, Any, str]:
    done = warm.assay(["dbms", "tpch", *words], cwd=cwd)
    try:
        document = json.loads(done.stdout)
    except ValueError:
        document = done.stdout
    return done.returncode, document, f"{done.stderr}{done.stdout[:2000]}"


Runs = Callable[..., tuple[Summary, list[Json]]]


@pytest.fixture
def passes(tpch: Callable[..., Summary], small: Path, target: Path, tmp_path: Path) -> Runs:
    """Runs queries on DuckDB as a study: how it ended, and its records as they were declared."""

    def run(
        protocols: Sequence[str] = ("cold", "hot"), on: Sequence[Path] = (), repeats: int = 1, **more: Any
    ) -> tuple[Summary, list[Json]]:
        table: Json = {"engine": "duckdb", "scale": "0.01", "data_in": str(small), "queries": "1,6"}
        out = tmp_path / "out"
        summary = tpch(table | more, protocols, [str(one) for one in on or [target]], out, repeats=repeats)
        return summary, [json.loads(path.read_text()) for path in sorted((out / "work").glob("*.json"))]

    return run


def valid(record: Json) -> None:
    schema = json.loads((home.schema() / "work.schema.json").read_text())
    jsonschema.validate(record, schema)
    assert all(one["passed"] for one in record["checks"]), record["checks"]


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_two_targets_cold_and_hot(engine: str, target: Path, tmp_path: Path) -> None:
    """A few queries; all of them run on DuckDB and PostgreSQL below, and on SQLite where it is the second engine."""
    other = tmp_path / "other"
    other.mkdir()
    words = [
        "--engine",
        engine,
        "--scale",
        "0.01",
        "--queries",
        "1-5",
        "--on",
        str(target),
        "--on",
        str(other),
        "--json",
    ]
    code, records, said = assay(*words, cwd=tmp_path)
    assert code == 0, said
    assert [one["workload"]["parameters"]["protocol"] for one in records] == ["cold", "cold", "hot", "hot"]
    for record in records:
        valid(record)
        assert len(record["parts"]) == 5
        assert sum(one["name"].startswith("answer-") for one in record["checks"]) == 5
        assert all(part["facts"]["plan_hash"] for part in record["parts"])
        assert record["figures"]["sum_s"]["value"] > 0
    assert sum(one["name"].startswith("plan-") for record in records[1::2] for one in record["checks"]) == 10
    assert records[1]["figures"]["geometric_mean_of_first_ratio"]["value"] > 0
    assert [one["targets"][0]["target"] for one in records] == [str(target), str(other)] * 2
    assert len(list((tmp_path / "assay-results").glob("*/work/*.json"))) == 4
    assert list(other.iterdir()) == []


def test_drawn_parameters_are_checked_by_a_second_engine(passes: Runs) -> None:
    summary, (record,) = passes(["hot"], parameters_seed=3, queries="1-22")
    assert summary.exit_code == 0
    valid(record)
    assert record["workload"]["parameters"]["answers_checked_by"].startswith("sqlite")
    assert len(record["checks"]) == 22


def test_a_wrong_answer_fails_the_run(passes: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = {name: dict(one) for name, one in answers.stored(0.01).items()}
    wrong["q06"] = answers.summary([(1.0,)])
    monkeypatch.setattr(answers, "stored", lambda _: wrong)
    summary, (record,) = passes(["cold"])
    assert summary.exit_code == 1
    assert [one["passed"] for one in record["checks"]] == [True, False]
    assert record["verdict"]["status"] == "invalid"
    assert record["verdict"]["reasons"][0]["code"] == "check-failed"


def test_a_wrong_order_of_rows_fails_the_run(passes: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    real = DuckDB.run

    def backwards(self: DuckDB, sql: str) -> Any:
        found = real(self, sql)
        found.rows.reverse()
        return found

    monkeypatch.setattr(DuckDB, "run", backwards)
    summary, (record,) = passes(["hot"], queries="1")
    assert summary.exit_code == 1
    assert "wrong order" in record["checks"][0]["evidence"]


def test_other_plans_on_another_target_are_flagged(
    passes: Runs, target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    real = DuckDB.plan
    opened: list[Path] = []

    def differs(self: DuckDB, sql: str) -> Any:
        plan = real(self, sql)
        return type(plan)(f"{plan.hash}x", plan.text) if opened[-1].is_relative_to(other) else plan

    def starts(self: DuckDB, folder: Path) -> None:
        opened.append(folder)
        start(self, folder)

    start = DuckDB.start
    monkeypatch.setattr(DuckDB, "plan", differs)
    monkeypatch.setattr(DuckDB, "start", starts)
    summary, records = passes(["hot"], [target, other], queries="6")
    assert summary.exit_code == 1
    assert [[one["name"] for one in record["checks"] if not one["passed"]] for record in records] == [[], ["plan-q06"]]


def test_a_scale_that_does_not_fit_is_refused_before_anything_is_written(target: Path, tmp_path: Path) -> None:
    code, _, said = assay("--scale", "100000", "--on", str(target), cwd=tmp_path)
    assert code == 4
    assert "are free" in said
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        (["--on", "twin:p4610"], 2, "predict"),
        (["--on", "nowhere"], 2, "does not exist"),
        (["--queries", "23"], 2, "no query"),
        (["--scale", "much"], 2, "no scale factor"),
        (["--wal", "."], 2, "writes no log"),
        (["--hot-in", "attic"], 2, "cannot be hot"),
        (["--engine", "sqlserver"], 2, "where it runs"),
        (["--cold-by", "evict"], 2, "cannot empty its buffer"),
    ],
)
def test_bad_input_is_a_sentence(words: list[str], code: int, part: str, target: Path, tmp_path: Path) -> None:
    seen, _, said = assay("--scale", "0.01", *words, cwd=target)
    assert seen == code, said
    assert part in said


def test_files_that_are_not_what_they_should_be_are_refused(
    passes: Runs, small: Path, tmp_path: Path, tpch: Callable[..., Summary], target: Path
) -> None:
    folder = tmp_path / "damaged"
    folder.mkdir()
    for path in small.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "region.tbl").write_bytes((small / "region.tbl").read_bytes()[:-1])
    summary, records = passes(data_in=str(folder))
    assert not records
    (problem,) = summary.not_measured
    assert "region.tbl is not the file" in problem["reason"]
    (folder / "region.tbl").unlink()
    table = {"scale": "0.01", "data_in": str(folder)}
    (problem,) = tpch(table, ["hot"], [str(target)], tmp_path / "again").not_measured
    assert "region.tbl is missing" in problem["reason"]


def test_a_database_that_dies_keeps_what_was_done(passes: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    real, runs = DuckDB.run, []

    def dies(self: DuckDB, sql: str) -> Any:
        runs.append(sql)
        if len(runs) == 3:
            assert self._process is not None
            self._process.send_signal(signal.SIGKILL)
        return real(self, sql)

    monkeypatch.setattr(DuckDB, "run", dies)
    summary, (record, after) = passes(["cold"], queries="1,6,12", repeats=2)
    assert [part["succeeded"] for part in record["parts"] if part["figures"]] == [1, 1]
    assert record["verdict"]["status"] == "invalid"
    assert any("ended by signal 9" in one["evidence"] for one in record["checks"])
    assert summary.exit_code == 1
    assert len(after["parts"]) == 3, "the next pass has a new process"
    valid(after)


def test_a_query_that_takes_too_long_is_marked_and_the_others_run(passes: Runs) -> None:
    summary, (record,) = passes(["hot"], limit="0.1ms")
    assert [part["failed"] for part in record["parts"]] == [1, 1]
    assert "gave no answer within" in record["parts"][0]["facts"]["failure"]
    assert summary.exit_code == 1


def test_an_answer_that_was_there_before_anybody_looked_is_late_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = DuckDB(1, limit_s=0.5)
    monkeypatch.setattr(engine, "_ask", lambda *_: {"seconds": 0.6})
    with pytest.raises(QueryError, match=r"no answer within 0\.5 s"):
        engine.run("select 1")


def test_an_interrupt_keeps_what_is_done_and_the_rest_is_done_later(target: Path, small: Path, tmp_path: Path) -> None:
    words = ["--scale", "0.01", "--data", str(small), "--on", str(target), "--cold", "--repeats", "12"]
    command = [sys.executable, "-m", "assay", "dbms", "tpch", *words, "--queries", "6", "--out", str(tmp_path / "out")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    with contextlib.suppress(StopIteration):
        while not next(process.stderr).startswith("[2/12]"):
            pass
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 3, said
    assert list(target.iterdir()) == []
    finished = len(list((tmp_path / "out" / "work").iterdir()))
    assert 2 <= finished < 12
    code, records, said = assay("--resume", str(tmp_path / "out"), "--json", cwd=tmp_path)
    assert code == 0, said
    assert len(records) == 12
    for record in records:
        valid(record)
        assert "interrupted" not in {one["code"] for one in record["verdict"]["reasons"]}
        assert record["parts"][0]["succeeded"] == 1
    code, again, said = assay("--resume", str(tmp_path / "out"), "--json", cwd=tmp_path)
    assert again == records, "what is complete is shown, and not run"


def test_a_pass_that_is_interrupted_keeps_its_queries(passes: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    real, runs = DuckDB.run, []

    def stops(self: DuckDB, sql: str) -> Any:
        runs.append(sql)
        if len(runs) == 2:
            raise KeyboardInterrupt
        return real(self, sql)

    monkeypatch.setattr(DuckDB, "run", stops)
    summary, (record,) = passes(["cold"], repeats=3)
    assert summary.exit_code == 3
    assert [part["name"] for part in record["parts"]] == ["q01"]
    assert record["verdict"]["reasons"][0]["code"] == "interrupted"


def test_what_a_killed_run_left_is_removed_by_the_next(target: Path, small: Path, passes: Runs) -> None:
    words = ["--scale", "0.01", "--data", str(small), "--on", str(target), "--cold", "--repeats", "40"]
    command = [sys.executable, "-m", "assay", "dbms", "tpch", *words, "--out", str(small.parent / "out")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    with contextlib.suppress(StopIteration):
        while not next(process.stderr).startswith("[1/40]"):
            pass
    process.kill()
    process.communicate()
    # What made the folder sees that this process is gone, and removes it.
    deadline = time.monotonic() + 60
    while list(target.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert list(target.iterdir()) == []
    stranger = target / f"{PREFIX}of-somebody-else"
    stranger.mkdir()
    passes(["hot"])
    assert list(target.iterdir()) == [stranger]
    stranger.rmdir()


def test_memory_cannot_be_cold_and_the_record_says_so(passes: Runs) -> None:
    if not Path("/dev/shm").is_dir():
        pytest.skip("/dev/shm is not there")
    folder = Path("/dev/shm") / f"assay-test-{os.getpid()}-{time.monotonic_ns()}"
    folder.mkdir()
    try:
        _, (record,) = passes(["cold"], [folder])
    finally:
        folder.rmdir()
    valid(record)
    assert record["targets"][0]["emulated"]
    assert [one["what"] for one in record["not_measured"]] == ["a cold page cache"]


def test_two_devices_that_do_not_differ_are_said_with_their_use(passes: Runs, target: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    _, records = passes(["cold"], [target, other], repeats=3, queries="6")
    assert len(records) == 6
    told = [one for one in records if "compared_in_words" in one["workload"]["parameters"]]
    assert [one["targets"][0]["target"] for one in told] == [str(other)]
    words = told[0]["workload"]["parameters"]["compared_in_words"]
    assert "no difference shown" not in words or "devices were busy" in words
    assert told[0]["parts"][0]["facts"]["against_first"]
    assert told[0]["figures"]["geometric_mean_of_first_ratio"]["value"] > 0


def test_repeats_that_spread_are_said_in_each() -> None:
    def record(seconds: float) -> Any:
        figures = {"time_s": {"value": seconds, "unit": "s"}}
        return {
            "targets": [{"role": "data", "target": "a"}],
            "parts": [{"name": "q01", "figures": figures}],
            "verdict": {"status": "valid", "reasons": []},
        }

    still, loud = [record(1.0), record(1.1)], [record(1.0), record(1.3)]
    assert contrast.note(still) == []
    assert contrast.note(loud) == loud
    assert {one["verdict"]["status"] for one in loud} == {"suspect"}
    assert "by 30%" in loud[0]["verdict"]["reasons"][0]["evidence"]


STUDY = """
name = "near"
title = "Near and far"
question = "What does a cold cache cost?"
source = "none"
repeats = 2

[matrix]
protocol = ["cold", "hot"]

[work]
kind = "dbms-tpch"
engine = "duckdb"
scale = 0.01
queries = "1,6"
protocol = "${protocol}"
"""


def test_a_study_of_it_is_planned_run_resumed_read_and_compared_as_all_are(target: Path, tmp_path: Path) -> None:
    (tmp_path / "near.toml").write_text(STUDY)

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "assay", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, cwd=tmp_path)

    planned = json.loads(run("run", "near.toml", "--on", str(target), "--dry-run", "--json").stdout)
    assert planned["totals"]["cells"] == 4
    assert planned["totals"]["bytes_needed"][str(target)] > 20_000_000
    done = run("run", "near.toml", "--on", str(target), "--out", "out")
    assert done.returncode == 0, done.stderr
    names = [f"near-000{cell}-r{repeat}" for cell in (1, 2) for repeat in (1, 2)]
    assert sorted(path.stem for path in (tmp_path / "out" / "work").glob("*.json")) == names
    assert "TPC-H-like" in (tmp_path / "out" / "report.html").read_text()
    (tmp_path / "out" / "work" / "near-0002-r1.json").unlink()
    again = run("run", "--resume", "out", "--json")
    assert json.loads(again.stdout)["cells"]["finished"] == 4, again.stderr
    assert "3 of 4 cells are done already" in again.stderr
    asked = run("query", "select cell from works", "--in", "out", "--json")
    assert len(json.loads(asked.stdout)) == 4, asked.stderr
    assert run("run", "near.toml", "--on", str(target), "--out", "again", "--no-report").returncode == 0
    compared = run("compare", "out", "again", "--json")
    assert any(one["class"] == "q06" for one in json.loads(compared.stdout)["comparisons"]), compared.stderr


def test_what_only_a_command_line_gives_is_refused_of_a_file(tmp_path: Path, target: Path) -> None:
    setting = 'engine = "postgres"\npg_set = ["archive_command=true"]'
    (tmp_path / "near.toml").write_text(STUDY.replace('engine = "duckdb"', setting))
    command = [sys.executable, "-m", "assay", "run", "near.toml", "--on", str(target), "--out", "out"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, cwd=tmp_path)
    assert done.returncode == 2
    assert "a file sets archive_command" in done.stderr
    assert "assay dbms tpch --pg-set archive_command=..." in done.stderr


def test_an_engine_that_is_not_there_is_named() -> None:
    with pytest.raises(AssayError, match="no engine"):
        engines.make(QueryWish("duckling"))
    with pytest.raises(EngineError, match="not running"):
        DuckDB(1).run("select 1")
    assert contrast.SPREAD == 0.15


@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
def test_a_tenth_of_a_gigabyte_cold_and_hot(engine: str, quick_disk: Path, tmp_path: Path) -> None:
    if engine == "postgres":
        from assay.dbms.postgres import find

        try:
            find()
        except AssayError as error:
            pytest.skip(f"{error.message}; {error.hint}")
    target = quick_disk
    words = ["--engine", engine, "--scale", "0.1", "--on", str(target), "--json"]
    # A server with small buffers starts and stops more quickly, and it does so for each cold query.
    words += ["--buffers", "128MiB"] if engine == "postgres" else []
    code, records, said = assay(*words, cwd=tmp_path)
    assert code == 0, said
    for record in records:
        valid(record)
        assert len(record["checks"]) == 22
        assert record["workload"]["parameters"]["answers_checked_by"].startswith("the stored answers")
        assert record["workload"]["parameters"]["data_checked_by"] == "known SHA-1 sums"
    cold = records[0]
    assert cold["figures"]["resident_bytes"]["value"] == 0
    assert cold["figures"]["device_read_bytes"]["value"] > 1e6
    assert {part["facts"]["class"] for part in cold["parts"]} <= {"cpu", "sequential", "random", "unknown"}
    assert any("dominant_node" in part["facts"] for part in cold["parts"])
