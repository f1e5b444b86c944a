"""Runs of TPC-H through the command line: every answer checked, nothing left behind, whatever happens."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from assay import home
from assay.dbms.place import _PREFIX as PREFIX
from assay.dbms.tpch import answers, data, engines, leave, run
from assay.dbms.tpch.embedded import DuckDB, EngineError
from assay.dbms.tpch.engine import QueryWish
from assay.error import AssayError

pytestmark = pytest.mark.usefixtures("assayer")
Json = dict[str, Any]


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
    command = [sys.executable, "-m", "assay", "dbms", "tpch", *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)
    try:
        document = json.loads(done.stdout)
    except ValueError:
        document = done.stdout
    return done.returncode, document, f"{done.stderr}{done.stdout[:2000]}"


def order(target: Path, small: Path, **more: Any) -> run.TpchFlags:
    wanted: Json = {
        "engine": QueryWish("duckdb"),
        "on": [str(target)],
        "scale": 0.01,
        "files": small,
        "queries": [1, 6],
    }
    return run.TpchFlags(**(wanted | more))


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
    assert [one["workload"]["parameters"]["protocol"] for one in records] == ["cold", "hot"] * 2
    for record in records:
        valid(record)
        assert len(record["parts"]) == 5
        assert sum(one["name"].startswith("answer-") for one in record["checks"]) == 5
        assert all(part["facts"]["plan_hash"] for part in record["parts"])
        assert record["figures"]["sum_s"]["value"] > 0
    assert sum(one["name"].startswith("plan-") for record in records[2:] for one in record["checks"]) == 10
    assert records[2]["figures"]["geometric_mean_of_first_ratio"]["value"] > 0
    assert len(list((tmp_path / "assay-results").glob("*/work/*.json"))) == 4
    assert list(other.iterdir()) == []


def test_drawn_parameters_are_checked_by_a_second_engine(target: Path, small: Path) -> None:
    outcome = run.run(order(target, small, seed=3, queries=range(1, 23), protocols=["hot"]))
    assert outcome.exit_code == 0
    (record,) = outcome.records
    valid(record)
    assert record["workload"]["parameters"]["answers_checked_by"].startswith("sqlite")
    assert len(record["checks"]) == 22


def test_a_wrong_answer_fails_the_run(target: Path, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = {name: dict(one) for name, one in answers.stored(0.01).items()}
    wrong["q06"] = answers.summary([(1.0,)])
    monkeypatch.setattr(answers, "stored", lambda _: wrong)
    outcome = run.run(order(target, small, protocols=["cold"]))
    assert outcome.exit_code == 1
    (record,) = outcome.records
    assert [one["passed"] for one in record["checks"]] == [True, False]
    assert record["verdict"]["status"] == "invalid"
    assert record["verdict"]["reasons"][0]["code"] == "check-failed"


def test_a_wrong_order_of_rows_fails_the_run(target: Path, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = DuckDB.run

    def backwards(self: DuckDB, sql: str) -> Any:
        found = real(self, sql)
        found.rows.reverse()
        return found

    monkeypatch.setattr(DuckDB, "run", backwards)
    outcome = run.run(order(target, small, queries=[1], protocols=["hot"]))
    assert outcome.exit_code == 1
    assert "wrong order" in outcome.records[0]["checks"][0]["evidence"]


def test_other_plans_on_another_target_are_flagged(
    target: Path, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    real, seen = DuckDB.plan, []

    def differs(self: DuckDB, sql: str) -> Any:
        seen.append(sql)
        plan = real(self, sql)
        return plan if len(seen) == 1 else type(plan)(f"{plan.hash}x", plan.text)

    monkeypatch.setattr(DuckDB, "plan", differs)
    asked = order(target, small, on=[str(target), str(other)], queries=[6], protocols=["hot"])
    outcome = run.run(asked)
    assert outcome.exit_code == 1
    assert [one["name"] for one in outcome.records[1]["checks"] if not one["passed"]] == ["plan-q06"]


def test_a_scale_that_does_not_fit_is_refused_before_anything_is_written(target: Path, tmp_path: Path) -> None:
    code, _, said = assay("--scale", "100000", "--on", str(target), cwd=tmp_path)
    assert code == 4
    assert "are needed" in said
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        (["--on", "twin:p4610"], 2, "predict"),
        (["--on", "nowhere"], 4, "no folder"),
        (["--on", ".", "--on", "."], 2, "twice"),
        (["--queries", "23"], 2, "no query"),
        (["--scale", "much"], 2, "no scale factor"),
        (["--wal", "."], 2, "writes no log"),
        (["--hot-in", "attic"], 2, "cannot be hot"),
    ],
)
def test_bad_input_is_a_sentence(words: list[str], code: int, part: str, target: Path, tmp_path: Path) -> None:
    seen, _, said = assay("--scale", "0.01", *words, cwd=target)
    assert seen == code, said
    assert part in said


def test_files_that_are_not_what_they_should_be_are_refused(target: Path, small: Path, tmp_path: Path) -> None:
    folder = tmp_path / "damaged"
    folder.mkdir()
    for path in small.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "region.tbl").write_bytes((small / "region.tbl").read_bytes()[:-1])
    with pytest.raises(data.DataError, match=r"region\.tbl is not the file"):
        run.run(order(target, folder))
    (folder / "region.tbl").unlink()
    with pytest.raises(data.DataError, match=r"region\.tbl is missing"):
        run.run(order(target, folder))


def test_a_database_that_dies_keeps_what_was_done(
    target: Path, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, runs = DuckDB.run, []

    def dies(self: DuckDB, sql: str) -> Any:
        runs.append(sql)
        if len(runs) == 3:
            assert self._process is not None
            self._process.send_signal(signal.SIGKILL)
        return real(self, sql)

    monkeypatch.setattr(DuckDB, "run", dies)
    outcome = run.run(order(target, small, protocols=["cold"], queries=[1, 6, 12], out=tmp_path / "out"))
    (record,) = outcome.records
    assert [part["succeeded"] for part in record["parts"] if part["figures"]] == [1, 1]
    assert "ended by signal 9" in record["verdict"]["reasons"][-1]["evidence"] or any(
        "ended by signal 9" in one["evidence"] for one in record["verdict"]["reasons"]
    )
    assert outcome.exit_code == 1
    assert len(list((tmp_path / "out" / "work").iterdir())) == 1


def test_a_query_that_takes_too_long_is_marked_and_the_others_run(target: Path, small: Path) -> None:
    outcome = run.run(order(target, small, engine=QueryWish("duckdb", limit_s=1e-4), protocols=["hot"]))
    assert [part["failed"] for part in outcome.records[0]["parts"]] == [1, 1]
    assert "gave no answer within" in outcome.records[0]["parts"][0]["facts"]["failure"]
    assert outcome.exit_code == 1


def test_an_interrupt_keeps_what_is_done(target: Path, small: Path, tmp_path: Path) -> None:
    words = ["--scale", "0.01", "--data", str(small), "--on", str(target), "--cold", "--repeats", "1000", "--json"]
    command = [sys.executable, "-m", "assay", "dbms", "tpch", *words, "--queries", "6", "--out", str(tmp_path / "out")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    with contextlib.suppress(StopIteration):
        while "2 of 1000" not in next(process.stderr):
            pass
    process.send_signal(signal.SIGINT)
    printed, said = process.communicate(timeout=60)
    assert process.returncode == 3, said
    (record,) = json.loads(printed)
    assert record["verdict"]["reasons"][0]["code"] == "interrupted"
    assert record["parts"][0]["succeeded"] >= 1
    assert len(list((tmp_path / "out" / "work").iterdir())) == 1


def test_what_a_killed_run_left_is_removed_by_the_next(target: Path, small: Path) -> None:
    words = ["--scale", "0.01", "--data", str(small), "--on", str(target), "--cold", "--repeats", "1000"]
    command = [sys.executable, "-m", "assay", "dbms", "tpch", *words, "--out", str(small.parent / "out")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    with contextlib.suppress(StopIteration):
        while "1 of 1000" not in next(process.stderr):
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
    run.run(order(target, small, protocols=["hot"]))
    assert list(target.iterdir()) == [stranger]
    stranger.rmdir()


def test_memory_cannot_be_cold_and_the_record_says_so(small: Path) -> None:
    if not Path("/dev/shm").is_dir():
        pytest.skip("/dev/shm is not there")
    folder = Path("/dev/shm") / f"assay-test-{os.getpid()}-{time.monotonic_ns()}"
    folder.mkdir()
    try:
        outcome = run.run(order(folder, small, protocols=["cold"]))
    finally:
        folder.rmdir()
    (record,) = outcome.records
    valid(record)
    assert record["targets"][0]["emulated"]
    assert [one["what"] for one in record["not_measured"]] == ["a cold page cache"]


def test_two_devices_that_do_not_differ_are_said_with_their_use(target: Path, small: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    asked = order(target, small, on=[str(target), str(other)], queries=[6], protocols=["cold"], repeats=3)
    record = run.run(asked).records[1]
    words = record["workload"]["parameters"]["compared_in_words"]
    assert "no difference shown" not in words or "devices were busy" in words
    assert record["parts"][0]["facts"]["against_first"]
    assert len(record["parts"][0]["facts"]["times_s"].split()) == 3


def test_an_engine_that_is_not_there_is_named() -> None:
    with pytest.raises(AssayError, match="no engine"):
        engines.make(QueryWish("duckling"))
    with pytest.raises(EngineError, match="not running"):
        DuckDB(1).run("select 1")
    assert leave.SPREAD == 0.15


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
