"""The command line: JSON everywhere, errors as sentences, a fast start."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .conftest import ROOT, Assay

SLOW = ("rich", "pydantic", "duckdb", "pyarrow", "hdrh", "numpy", "tomllib", "importlib.metadata")


def document(done: subprocess.CompletedProcess[str]) -> Any:
    """The one JSON document on standard output."""
    return json.loads(done.stdout)


def test_help_loads_nothing_that_is_slow() -> None:
    code = (
        "import sys; from assay.cli import main\n"
        "try: main(['--help'])\n"
        "finally: print('LOADED', *sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT / "python")},
        check=True,
    )
    loaded = set(done.stderr.split("LOADED")[1].split())
    assert not loaded & set(SLOW)
    assert "quick" in done.stdout


def test_a_group_alone_shows_its_help_and_calls_it_no_error() -> None:
    done = subprocess.run([sys.executable, "-m", "assay", "cost"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Usage: assay cost")
    assert "error" not in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["list", "--json"],
        ["list", "paths", "--json"],
        ["schema", "study", "--json"],
        ["schema", "job"],
        ["clean", "--json"],
        ["completion", "zsh", "--json"],
        ["quick", "--dry-run", "--json"],
        ["run", "raw-null", "--dry-run", "--json"],
        ["run", "no-such-study", "--json"],
        ["run", "--json"],
        ["run", "raw-null", "--set", "x", "--json"],
        ["run", "raw-null", "--set", "x=1", "--json"],
        ["run", "raw-null", "--on", "/no/such/place", "--json"],
        ["run", "raw-null", "--repeats", "0", "--json"],
        ["run", "raw-null", "--profile", "huge", "--json"],
        ["run", "--resume", "/no/such/place", "--json"],
        ["list", "nonsense", "--json"],
        ["schema", "nonsense", "--json"],
        ["completion", "tcsh", "--json"],
        ["query", "select 1", "--json"],
        ["query", "select 1", "--in", "/no/such/place", "--json"],
        ["report", "--json"],
        ["clean", "/no/such/place", "--json"],
        ["verify", "--path", "nonsense", "--json"],
        ["verify", "--on", "/no/such/place", "--json"],
        ["no-such-command", "--json"],
        ["run", "--no-such-option", "--json"],
        ["fio", "export", "no-such-cell", "--json"],
    ],
)
def test_json_is_one_document_whether_it_works_or_not(assay: Assay, words: list[str]) -> None:
    done = assay(*words)
    found = document(done)
    assert "Traceback" not in done.stderr
    if done.returncode:
        assert done.returncode in (1, 2, 3, 4)
        assert found["error"]["message"]
        assert found["error"]["exit_code"] == done.returncode


def test_a_run_with_json_is_one_document(assay: Assay) -> None:
    found = document(assay.run("--json"))
    assert found["cells"]["finished"] == 4
    assert found["verdicts"] == {"valid": 4, "suspect": 0, "invalid": 0}
    assert found["directory"] == str(assay.results)


def test_an_error_is_a_sentence_and_a_hint_on_standard_error(assay: Assay) -> None:
    done = assay("run", "drop-in-scna")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: there is no study `drop-in-scna`\n\nhint: did you mean `drop-in-scan`?")


def test_a_wrong_option_is_a_sentence_and_a_hint(assay: Assay) -> None:
    done = assay("run", "--no-such-option")
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert "hint: `assay run --help`" in done.stderr


def test_a_missing_program_says_how_to_get_it(assay: Assay) -> None:
    assay.environment["ASSAYER"] = "/no/such/assayer"
    done = assay("run", "raw-null")
    assert done.returncode == 1
    assert "/no/such/assayer" in done.stderr
    assert "hint: " in done.stderr


def test_list_shows_every_study_with_its_question(assay: Assay) -> None:
    done = assay("list")
    assert done.returncode == 0
    assert {line.split()[0] for line in done.stdout.splitlines()} == {
        path.stem for path in (ROOT / "studies").rglob("*.toml")
    }


def test_set_changes_what_is_run_and_the_plan_says_so(assay: Assay) -> None:
    found = document(assay.run("--set", "threads=1,2,4", "--set", "data=2MiB", "--dry-run", "--json"))
    assert found["totals"]["cells"] == 6
    assert found["scaled"]["small"]["data"] == {"declared": "1MiB", "used": "2MiB"}


def test_a_query_answers_as_table_csv_and_json(assay: Assay) -> None:
    assay.run()
    where = ["--in", str(assay.results)]
    sql = "select factor_threads, count(*) as n from classes group by 1 order by 1"
    assert document(assay("query", sql, *where, "--json")) == [
        {"factor_threads": 1, "n": 2},
        {"factor_threads": 2, "n": 2},
    ]
    assert assay("query", sql, *where, "--csv").stdout.splitlines() == ["factor_threads,n", "1,2", "2,2"]


def test_a_query_takes_the_newest_results_by_default(assay: Assay) -> None:
    assay("run", str(assay.study()), "--on", str(assay.target))
    done = assay("query", "select count(*) as n from runs", "--json")
    assert document(done) == [{"n": 4}]


def test_a_wrong_query_is_a_sentence(assay: Assay) -> None:
    assay.run()
    done = assay("query", "select nonsense from classes", "--in", str(assay.results))
    assert done.returncode == 2
    assert done.stderr.startswith("error: the query failed: ")
    assert "hint: the tables are" in done.stderr


@pytest.mark.parametrize(
    "sql",
    [
        "copy (select 1) to '{out}'",
        "copy runs to '{out}' (format csv)",
        "export database '{out}'",
        "attach '{out}' as other",
        "install httpfs",
        "set enable_external_access = true",
        "pragma enable_external_access",
        "select * from read_csv('/etc/passwd')",
        "select * from '/etc/passwd'",
        "select * from glob('/*')",
        "delete from runs",
        "select 1; copy runs to '{out}'",
    ],
)
def test_a_query_reads_results_and_reaches_nothing_else(assay: Assay, sql: str) -> None:
    assay.run()
    before = sorted(assay.folder.rglob("*"))
    out = assay.folder / "written"
    done = assay("query", sql.format(out=out), "--in", str(assay.results))
    assert done.returncode == 2, done.stdout
    assert done.stderr.startswith("error: ")
    assert "hint: " in done.stderr
    assert sorted(assay.folder.rglob("*")) == before


def test_a_reader_that_has_seen_enough_is_no_error(assay: Assay) -> None:
    assay.run()
    process = assay.start("query", "select * from range(200000)", "--in", str(assay.results), "--csv")
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=60) == 0
    assert process.stderr is not None
    with process.stderr as messages:
        assert "Traceback" not in messages.read()


def test_verify_kills_the_writer_and_reports_what_was_found(assay: Assay) -> None:
    done = assay("verify", "--on", str(assay.target), "--kills", "2", "--json")
    found = document(done)
    assert done.returncode == 0, done.stderr
    assert found["passed"] is True
    assert [entry["acknowledged"] for entry in found["rounds"]] == [3, 3]
    assert not list(assay.target.iterdir())


def test_verify_fails_where_an_acknowledged_write_is_lost(assay: Assay) -> None:
    assay.environment["FAKE_LOST"] = "1"
    done = assay("verify", "--on", str(assay.target), "--kills", "1")
    assert done.returncode == 1
    assert "1 LOST" in done.stdout


def test_completion_knows_the_studies(assay: Assay) -> None:
    assay.environment |= {"_ASSAY_COMPLETE": "complete_bash", "COMP_WORDS": "assay run drop-in-s", "COMP_CWORD": "2"}
    done = assay()
    assert "drop-in-scan" in done.stdout
    assert not Path(assay.results).exists()
