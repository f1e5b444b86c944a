"""The command line from study file to report, with the real program beneath it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from assay.untyped import Json

from . import program

STUDY = """
name = "small"
title = "A small study"
question = "Do reads and a log get along?"
source = "none"
scenarios = ["alone", "pairwise", "all"]

[parameters]
data = "4MiB"
measure = "300ms"

[matrix]
size = ["4KiB", "16KiB"]

[datasets.data]
bytes = "${data}"

[datasets.log]
bytes = "${data}"

[classes.reads]
dataset = "data"
path = "pread+direct"
operation = "read"
pattern = "uniform"
size = "${size}"

[classes.log]
dataset = "log"
path = "pread+direct"
operation = "write"
pattern = "sequential"
size = "${size}"
durability = "fdatasync"

[classes.scan]
dataset = "data"
path = "libaio+direct"
operation = "read"
pattern = "sequential"
size = "64KiB"
depth = 2

[window]
measure = "${measure}"

[[figures]]
id = "sizes"
title = "Bandwidth by size"
kind = "bar"
x = "size"
y = "bandwidth_bytes_per_s"
series = "class"
facet = "scenario"
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, subprocess.CompletedProcess[str]]:
    """A study that ran to its end: the folder it was started in, its results, and what it said."""
    base = tmp_path_factory.mktemp("study")
    (base / "small.toml").write_text(STUDY)
    (base / "measured").mkdir()
    words = ["run", "small.toml", "--on", "measured", "--out", "out", "--json"]
    return base, base / "out", program.assay(*words, cwd=base)


def records(out: Path) -> list[Json]:
    return [json.loads(path.read_text()) for path in sorted((out / "records").glob("*.json"))]


def journal(out: Path) -> list[Json]:
    lines = (out / "journal.ndjson").read_text().splitlines()
    return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]


def test_a_study_runs_from_file_to_report(
    finished: tuple[Path, Path, subprocess.CompletedProcess[str]],
) -> None:
    base, out, done = finished
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    # Two sizes of three alone, three pairs and all together.
    assert document["cells"]["finished"] == 14
    assert document["not_measured"] == []
    assert document["problems"] == []
    assert Path(document["report"]).name == "report.html"
    assert len(records(out)) == 14
    assert not list((base / "measured").iterdir()), "something was left behind"


def test_scenarios_run_the_classes_they_name(finished: tuple[Path, Path, subprocess.CompletedProcess[str]]) -> None:
    seen = {
        (record["job"]["labels"]["scenario"], tuple(one["name"] for one in record["classes"]))
        for record in records(finished[1])
    }
    together = {scenario: set(names) for scenario, names in seen}
    assert together["all"] == {"reads", "log", "scan"}
    assert together["alone:log"] == {"log"}
    assert sum(scenario.startswith("pair:") for scenario in together) == 3
    assert all(len(names) == 2 for scenario, names in together.items() if scenario.startswith("pair:"))


def test_the_report_is_one_page_that_needs_no_network(
    finished: tuple[Path, Path, subprocess.CompletedProcess[str]],
) -> None:
    page = (finished[1] / "report.html").read_text()
    assert "A small study" in page
    assert "<script src=" not in page
    assert "<link" not in page or 'rel="stylesheet" href="http' not in page


def test_query_answers_from_the_results(finished: tuple[Path, Path, subprocess.CompletedProcess[str]]) -> None:
    base, out, _ = finished
    sql = "select class, count(*) as n, min(operations) as least from classes group by class order by class"
    done = program.assay("query", sql, "--in", str(out), "--json", cwd=base)
    rows = json.loads(done.stdout)
    assert [(row["class"], row["n"]) for row in rows] == [("log", 8), ("reads", 8), ("scan", 8)]
    assert all(row["least"] > 0 for row in rows)


def test_a_dry_run_touches_nothing(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(STUDY)
    words = ["run", "small.toml", "--on", str(folder), "--out", str(tmp_path / "out"), "--dry-run"]
    done = program.assay(*words, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert len(document["cells"]) == 14
    assert not (tmp_path / "out").exists()
    said = program.assay(*words, cwd=tmp_path).stdout
    assert "14 cells" in said
    assert "room needed" in said


COMMANDS = {
    "list": ["list"],
    "list paths": ["list", "paths", "--on", "."],
    "doctor": ["doctor", "--on", "."],
    "schema": ["schema", "study"],
    "schema record": ["schema", "record"],
    "clean": ["clean", "."],
    "completion": ["completion", "bash"],
    "dry quick": ["quick", "--dry-run"],
    "unknown study": ["run", "no-such-study"],
    "unknown option": ["run", "--no-such-option"],
    "unknown command": ["no-such-command"],
    "no results": ["query", "select 1", "--in", "nowhere"],
    "no folder": ["run", "raw-depth", "--on", "nowhere"],
    "bad sql": ["query", "selectt 1"],
    "report": ["report", "nowhere"],
    "fio export": ["fio", "export", "no-such-cell", "--in", "nowhere"],
    "fio import": ["fio", "import", "nowhere.fio"],
    "resume": ["run", "--resume", "nowhere"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_json_is_one_document_and_nothing_else(name: str, tmp_path: Path) -> None:
    done = program.assay(*COMMANDS[name], "--json", cwd=tmp_path)
    document = json.loads(done.stdout)
    assert "Traceback" not in done.stderr
    if "error" in document:
        assert document["error"]["message"]
        assert document["error"]["exit_code"] == done.returncode > 0
    else:
        assert done.returncode in (0, 4)


def study_that_takes_long(tmp_path: Path, measure: str = "400ms") -> Path:
    text = STUDY.replace('scenarios = ["alone", "pairwise", "all"]', 'scenarios = ["alone"]')
    path = tmp_path / "small.toml"
    path.write_text(text.replace('measure = "300ms"', f'measure = "{measure}"'))
    return path


def wait_for(condition: Callable[[], object], process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.02)


def finished_cells(out: Path) -> list[str]:
    return (
        [entry["cell"] for entry in journal(out) if entry["state"] == "finished"]
        if (out / "journal.ndjson").exists()
        else []
    )


def test_resume_after_a_kill_does_not_redo_what_is_finished(folder: Path, tmp_path: Path) -> None:
    study_that_takes_long(tmp_path)
    out = tmp_path / "out"
    words = ["run", "small.toml", "--on", str(folder), "--out", str(out), "--no-report"]
    process = program.start_assay(*words, cwd=tmp_path)
    try:
        wait_for(lambda: len(finished_cells(out)) >= 2, process)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    # The measuring program has a session of its own and must not outlive its parent.
    wait_for_death(folder)
    before = {path.name: json.loads(path.read_text())["run"]["id"] for path in (out / "records").glob("*.json")}
    kept = finished_cells(out)
    done = program.assay("run", "--resume", str(out), "--no-report", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["cells"]["finished"] == 6
    after = {path.name: json.loads(path.read_text())["run"]["id"] for path in (out / "records").glob("*.json")}
    assert len(after) == 6
    assert len(set(after.values())) == 6
    assert len(kept) >= 2
    assert all(after[f"{cell}.json"] == before[f"{cell}.json"] for cell in kept)
    starts = [entry["cell"] for entry in journal(out) if entry["state"] == "started"]
    assert all(starts.count(cell) == 1 for cell in kept)


def wait_for_death(folder: Path) -> None:
    """Until nobody uses the scratch folder any more."""
    end = time.monotonic() + 30
    while any(found["alive"] for found in program.document("scratch", "list", str(folder))):
        assert time.monotonic() < end, "the measuring program outlived the command line"
        time.sleep(0.05)


def test_an_interrupt_keeps_what_is_finished(folder: Path, tmp_path: Path) -> None:
    study_that_takes_long(tmp_path)
    out = tmp_path / "out"
    process = program.start_assay("run", "small.toml", "--on", str(folder), "--out", str(out), "--json", cwd=tmp_path)
    try:
        wait_for(lambda: len(finished_cells(out)) >= 1, process)
        os.killpg(process.pid, signal.SIGINT)
        said, complaints = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 3, complaints
    document = json.loads(said)
    assert document["cells"]["finished"] >= 1
    assert document["cells"]["waiting"] >= 1
    assert len(records(out)) >= document["cells"]["finished"]
    assert (out / "report.html").exists()
    assert (out / "classes.parquet").exists()


def test_a_cell_runs_under_fio_too(
    finished: tuple[Path, Path, subprocess.CompletedProcess[str]], tmp_path: Path, need: Callable[[str], str]
) -> None:
    fio = need("fio")
    base, out, _ = finished
    plan = json.loads((out / "plan.json").read_text())
    cell = next(cell["id"] for cell in plan["cells"] if cell["scenario"] == "all")
    done = program.assay("fio", "export", cell, "--in", str(out), "--json", cwd=base)
    assert done.returncode == 0, done.stderr
    jobfile = tmp_path / "cell.fio"
    jobfile.write_text(json.loads(done.stdout)["jobfile"])
    ran = subprocess.run(
        [fio, "--output-format=json", str(jobfile)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        timeout=100,
    )
    for left in (base / "measured").iterdir():
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    assert ran.returncode == 0, ran.stderr + ran.stdout
    jobs = json.loads(ran.stdout[ran.stdout.index("{") :])["jobs"]
    moved = {job["jobname"]: job["read"]["io_bytes"] + job["write"]["io_bytes"] for job in jobs}
    assert len(moved) == 3
    assert all(count > 0 for count in moved.values()), moved


def test_doctor_names_what_it_saw_why_and_what_mends_it(tmp_path: Path) -> None:
    done = program.assay("doctor", "--on", str(tmp_path), "--json", cwd=tmp_path)
    assert done.returncode in (0, 4)
    document = json.loads(done.stdout)
    findings = document if isinstance(document, list) else document.get("findings") or document.get("checks")
    assert findings
