"""`assay index run` and `assay engine` are short for studies: plan, journal, repeats, going on, and all that reads."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import warm
from assay.untyped import Json

pytestmark = pytest.mark.usefixtures("assayer")

INDEX = ("index", "run", "--index", "ssd-btree", "--workload", "lookup", "--keys", "3000", "--count", "0")
ENGINE = ("engine", "ycsb", "--rows", "2000", "--pool", "4MiB", "--log-size", "4MiB")
TWIN = ("engine", "scan", "--rows", "2000", "--pool", "4MiB", "--on", "twin:970evoplus", "--turn", "2us")
SHORT = ("--warmup", "0", "--duration", "100ms")
COMMANDS = pytest.mark.parametrize("words", [INDEX, ENGINE, TWIN], ids=["index", "engine", "twin"])


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def assay(*words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = warm.assay(words)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def asked(words: str, *more: str) -> Json:
    found: Json = json.loads(assay(*words.split(), *more, "--json").stdout)
    return found


@COMMANDS
def test_a_plan_is_shown_and_nothing_is_touched(words: Sequence[str], place: Path) -> None:
    plan = json.loads(assay(*words, *SHORT, "--repeats", "2", "--dry-run", "--json").stdout)
    assert plan["totals"]["cells"] == 2
    assert len({cell["job"]["seed"] for cell in plan["cells"]}) == 2, "each run draws anew"
    assert {cell["program"][0] for cell in plan["cells"]} == {words[0]}
    assert list(place.iterdir()) == []


@COMMANDS
def test_what_it_leaves_goes_on_and_is_read_as_every_study_is(words: Sequence[str], place: Path) -> None:
    for out in ("a", "b"):
        assay(*words, *SHORT, "--repeats", "2", "--out", out)
    assert {"plan.json", "journal.ndjson", "study.json", "work"} <= {path.name for path in (place / "a").iterdir()}
    records = sorted((place / "a" / "work").iterdir())
    assert len(records) == 2
    kept = records[0].read_bytes()
    records[1].unlink()
    again = asked("run --resume a")
    assert (again["exit_code"], again["cells"]["finished"]) == (0, 2)
    assert records[1].is_file()
    assert records[0].read_bytes() == kept, "what is there is not done again"
    rows = json.loads(assay("query", "select cell, workload from works", "--in", "a", "--json").stdout)
    assert len(rows) == 2
    comparisons = json.loads(assay("compare", "a", "b", "--json").stdout)["comparisons"]
    assert {one["pairs"] for one in comparisons} == {2}
    assay("report", "a")
    assert (place / "a" / "report.html").is_file()


@COMMANDS
def test_a_folder_that_holds_a_run_is_not_begun_again(words: Sequence[str]) -> None:
    assay(*words, *SHORT, "--out", "a")
    assert "holds a run already" in assay(*words, *SHORT, "--out", "a", code=2).stderr


def test_runs_of_one_second_have_folders_of_their_own(place: Path) -> None:
    words = [sys.executable, "-m", "assay", *INDEX, "--warmup", "0", "--operations", "10", "--on"]
    for name in ("x", "y"):
        (place / name).mkdir()
    both = [subprocess.Popen([*words, name], stdout=subprocess.DEVNULL) for name in ("x", "y")]
    assert [one.wait(120) for one in both] == [0, 0]
    assert len(list((place / "assay-results").glob("ssd-btree-lookup-*/work/*.json"))) == 2


def test_several_values_are_a_matrix() -> None:
    words = (*INDEX, *SHORT, "--workload", "update", "--pool", "1MiB", "--pool", "2MiB", "--out", "a")
    found = asked(" ".join(words))["records"]
    asked_for = {(one["workload"]["name"], one["subject"]["settings"]["pool_bytes"]) for one in found}
    assert asked_for == {(name, size << 20) for name in ("lookup", "update") for size in (1, 2)}


@pytest.mark.parametrize("words", [INDEX, ENGINE], ids=["index", "engine"])
def test_an_interrupt_keeps_what_was_finished_and_the_run_goes_on(words: Sequence[str], place: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "assay",
        *words,
        "--warmup",
        "0",
        "--duration",
        "2s",
        "--repeats",
        "2",
        "--out",
        "a",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as stops:
        assert stops.stderr is not None
        for line in stops.stderr:
            if line.startswith("[1/2]"):
                break
        stops.send_signal(signal.SIGINT)
        said = stops.communicate(timeout=60)[1]
    assert stops.returncode == 3, said
    assert "assay run --resume a" in said
    again = asked("run --resume a")
    assert (again["exit_code"], again["cells"]["finished"]) == (0, 2)


def test_a_failed_check_is_told_by_record_journal_and_exit_code(place: Path) -> None:
    words = (*INDEX[:2], "--index", "ssd-btree", *INDEX[4:], "--warmup", "0", "--operations", "100")
    kept = ("--pool-file", "pool", "--pool", "4MiB")
    assay(*words, *kept, "--out", "a")
    assay(*words, *kept, "--out", "b")
    assay(*words, *kept, "--seed", "9", "--out", "c", code=1)
    last = json.loads((place / "c" / "journal.ndjson").read_text().splitlines()[-1])
    assert last["state"] == "failed"
    assert "had not the effect that they must have" in last["reason"]


def test_a_bad_job_that_only_the_program_knows_is_a_bad_job() -> None:
    assert "is not known" in assay(*INDEX, "--set", "nonsense=1", code=2).stderr
    assert "holds no run" not in assay(*ENGINE, "--page", "3KiB", code=2).stderr


def test_leave_to_destroy_a_device_stands_in_no_file() -> None:
    from assay.study import consent
    from assay.study.cell import Cell

    seat = {"members": ["/dev/nvme1n1"], "serials": ["S1"], "yes_destroy": True}
    job = {"target": "/dev/nvme1n1", "devices": seat, "log_devices": {**seat, "members": ["/dev/nvme2n1"]}}
    cell = Cell("engine-0001-r1", "engine", "all", 1, {}, job, program=("engine",))
    assert consent.destroyed([cell]) == ["/dev/nvme1n1", "/dev/nvme2n1"]
    kept = Cell.from_document(cell.document() | {"job": consent.without(job)})
    assert "S1" not in json.dumps(kept.job)
    assert "yes_destroy" not in json.dumps(kept.job)
    allowed = consent.Consent(("S1", "S2"), yes_destroy=True)
    (given,) = consent.given([kept], ["/dev/nvme1n1", "/dev/nvme2n1"], allowed, "assay run")
    assert given.job["devices"] == seat
    assert given.job["log_devices"]["serials"] == ["S2"]
