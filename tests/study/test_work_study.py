"""Studies of the engine: one dialect, one plan, one folder with those of I/O."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from assay.error import AssayError
from assay.results import folder
from assay.study import source
from assay.study.request import Prepared, Wish, prepare
from assay.study.source import StudyError
from assay.target.target import parse

STUDY = """
name = "rows"
title = "Rows"
question = "What does a flush cost?"
source = "none"
repeats = 2

[parameters]
length = "200ms"

[matrix]
durability = ["none", "fdatasync"]

[work]
kind = "engine-ycsb"
rows = 2000
reads = 0.5
pool = "16MiB"
log_size = "16MiB"
durability = "${durability}"
warmup = "100ms"
duration = "${length}"
"""


def planned(text: str, on: str, tmp_path: Path) -> Prepared:
    path = tmp_path / "rows.toml"
    path.write_text(text)
    return prepare(Wish(str(path), (parse(on),), {}), None)


def assay(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-m", "assay", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)


def test_each_combination_is_a_cell_with_the_job_of_the_engine(tmp_path: Path) -> None:
    cells = planned(STUDY, str(tmp_path), tmp_path).plan.in_file_order
    assert [cell.factors["durability"] for cell in cells] == ["none", "none", "fdatasync", "fdatasync"]
    assert {cell.program for cell in cells} == {("engine",)}
    job = cells[2].job
    assert (job["durability"], job["pool_bytes"], job["duration_s"]) == ("fdatasync", 16 << 20, 0.2)
    assert job["workload"] == {"kind": "ycsb", "rows": 2000, "value_bytes": 120, "read_share": 0.5, "zipf": 0.0}
    assert job["target"] == str(tmp_path)
    assert len({cell.job["seed"] for cell in cells}) == 4, "each run draws anew"
    assert all(cell.seconds > 0.3 and cell.bytes_written > 0 for cell in cells)


def test_data_and_log_lie_where_the_targets_say(tmp_path: Path) -> None:
    path, log = tmp_path / "rows.toml", tmp_path / "log"
    path.write_text(STUDY)
    log.mkdir()
    plan = prepare(Wish(str(path), (parse(str(tmp_path)), parse(f"log={log}")), {}), None).plan
    assert {cell.job["log_target"] for cell in plan.cells} == {str(log)}


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('pool = "16MiB"', 'pol = "16MiB"', "did you mean `pool`?"),
        ('pool = "16MiB"', 'serial = "S1"', "knows no `serial`"),
        ('durability = "${durability}"', 'durability = "sometimes"', "'sometimes' is not a valid CommitDurability"),
        ("rows = 2000", "rows = 2000\nthreads = 0", "threads is 0"),
        ("rows = 2000", 'rows = "many"', "many"),
        ("rows = 2000", "rows = 2000.5", "must be a whole number"),
        ('kind = "engine-ycsb"\nrows = 2000\nreads = 0.5', 'kind = "engine-tpcc"\nsmall = "false"', "true or false"),
        ('kind = "engine-ycsb"', 'kind = "engine-graph"', "engine-tpcc"),
        ("[work]", '[datasets.data]\nbytes = "1MiB"\n\n[work]', "this one has both"),
    ],
)
def test_a_mistake_is_a_sentence(before: str, after: str, said: str, tmp_path: Path) -> None:
    assert before in STUDY
    with pytest.raises(AssayError) as refused:
        planned(STUDY.replace(before, after), str(tmp_path), tmp_path)
    assert said in f"{refused.value.message} {refused.value.hint}"
    assert refused.value.code == 2


def test_a_study_without_work_and_without_classes_is_refused() -> None:
    with pytest.raises(StudyError, match=r"or \[work\]"):
        source.parse('name = "a"\ntitle = "a"\nquestion = "a"\nsource = "a"\n', "a.toml")


def test_modules_that_are_a_twin_are_not_measured_beside_a_folder(tmp_path: Path) -> None:
    plan = prepare(Wish("lessons-tiers", (parse(str(tmp_path)),), {}), None).plan
    refused = {cell.factors["policy"] for cell in plan.refused}
    assert refused == {"copy", "in-place", "hot"}
    assert all("is a twin" in cell.refusal.reason for cell in plan.refused if cell.refusal)
    on_twins = prepare(Wish("lessons-tiers", (parse("twin:p4510"),), {}), None).plan
    assert not on_twins.refused
    assert all(set(cell.job["twins"]) >= {"data"} for cell in on_twins.cells)


def test_flags_of_classes_are_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.toml").write_text(STUDY)
    done = assay("run", "rows.toml", "--on", ".", "--counting", "accounts", cwd=tmp_path)
    assert done.returncode == 2
    assert "for studies of I/O" in done.stderr


@pytest.mark.usefixtures("assayer")
def test_it_runs_goes_on_and_is_read_as_every_study_is(tmp_path: Path) -> None:
    (tmp_path / "rows.toml").write_text(STUDY)
    (tmp_path / "on").mkdir()
    done = assay("run", "rows.toml", "--on", "on", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "durability fdatasync, #2" in done.stdout
    out = tmp_path / "out"
    names = sorted(path.stem for path in (out / "work").glob("*.json"))
    assert names == ["rows-0001-r1", "rows-0001-r2", "rows-0002-r1", "rows-0002-r2"]
    assert (out / "report.html").is_file()
    found = folder.read(out)
    assert (len(found.works), found.cells) == (4, ()), "what was measured is not listed as missing"

    # One that is gone is done again, and no other.
    kept = {name: (out / "work" / f"{name}.json").read_bytes() for name in names}
    (out / "work" / "rows-0002-r1.json").unlink()
    again = json.loads(assay("run", "--resume", "out", "--json", cwd=tmp_path).stdout)
    assert again["cells"]["finished"] == 4
    assert sum(again["verdicts"].values()) == 4
    changed = {name for name in names if (out / "work" / f"{name}.json").read_bytes() != kept[name]}
    assert changed == {"rows-0002-r1"}

    asked = assay("query", "select distinct subject from works", "--in", "out", "--json", cwd=tmp_path)
    assert asked.returncode == 0, asked.stderr
    cells = {
        row["cell"]
        for row in json.loads(assay("query", "select cell from works", "--in", "out", "--json", cwd=tmp_path).stdout)
    }
    assert cells == {"assay-ycsb-r1", "assay-ycsb-r2", "assay-ycsb-2-r1", "assay-ycsb-2-r2"}, (
        "a durability is a question"
    )
    compared = assay("compare", "assay-ycsb", "assay-ycsb-2", "--in", "out", "--json", cwd=tmp_path)
    rates = [one for one in json.loads(compared.stdout)["comparisons"] if one["metric"] == "transactions_per_s"]
    assert rates, compared.stderr


INDEX = """
name = "trees"
title = "Trees"
question = "Which tree looks up faster?"
source = "none"

[matrix]
index = ["fptree", "dash-eh"]

[work]
kind = "index"
index = "${index}"
workload = "lookup"
keys = 20000
warmup = "50ms"
duration = "200ms"
count = 1000
"""


@pytest.mark.usefixtures("assayer")
def test_an_index_is_work_too(tmp_path: Path) -> None:
    (tmp_path / "trees.toml").write_text(INDEX)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
        done = assay("run", "trees.toml", "--on", memory, "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "index dash-eh, #1" in done.stdout
    assert {one.subject for one in folder.read(tmp_path / "out").works} == {"fptree", "dash-eh"}


def test_an_index_is_played_on_modules_by_the_same_study(tmp_path: Path) -> None:
    plan = planned(INDEX, "twin:pmem100-128g*4", tmp_path).plan
    assert all(cell.job["twin"]["data"]["label"] == "twin:pmem100-128g*4" for cell in plan.cells)
    assert all(cell.bytes_written == 0 for cell in plan.cells)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('workload = "lookup"', 'workload = "lookups"', "did you mean `lookup`?"),
        ("keys = 20000", "kees = 20000", "did you mean `keys`?"),
        ("keys = 20000", "keys = -1", "is no count"),
    ],
)
def test_a_mistake_about_an_index_is_a_sentence(before: str, after: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(AssayError) as refused:
        planned(INDEX.replace(before, after), str(tmp_path), tmp_path)
    assert said in f"{refused.value.message} {refused.value.hint}"
