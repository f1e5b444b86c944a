"""What is wrong with a folder is a sentence with what to do, through the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from advise.folders import Bench, append

READERS = (("report",), ("advise", "--all"))


def assay(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(root / "python"), "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "assay", *words], capture_output=True, text=True, check=False, env=environment
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


@pytest.fixture
def results(tmp_path: Path) -> Path:
    bench = Bench(tmp_path / "results")
    bench.add(append(1000), "logs", layout="grow")
    bench.add(append(3000), "logs")
    return bench.done()


def change(path: Path, **values: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_records_of_two_versions_are_told_apart(root: Path, results: Path) -> None:
    change(results / "records" / "logs-0000-r1.json", version=2)
    done = assay(root, "report", str(results), "--json")
    assert done.returncode == 0
    (problem,) = json.loads(done.stdout)["problems"]
    assert "logs-0000-r1.json has version 2, this report reads version 1; use the assay that wrote it" in problem
    advice = json.loads(assay(root, "advise", str(results), "--json").stdout)["advice"]
    assert {one["outcome"] for one in advice} == {"no evidence"}
    compared = assay(root, "compare", f"{results}/logs-0000-r1", f"{results}/logs-0001-r1")
    assert compared.returncode == 2
    assert "has version 2" in compared.stderr
    assert "hint:" in compared.stderr


@pytest.mark.parametrize("words", READERS)
def test_a_folder_of_another_version_alone_is_refused(root: Path, results: Path, words: tuple[str, ...]) -> None:
    for path in (results / "records").glob("*.json"):
        change(path, version=9)
    (results / "plan.json").unlink()
    done = assay(root, words[0], str(results), *words[1:])
    assert done.returncode == 2
    assert "version 9" in done.stderr
    assert "hint:" in done.stderr


@pytest.mark.parametrize("words", READERS)
def test_a_folder_cut_short_is_read_as_far_as_it_goes(root: Path, results: Path, words: tuple[str, ...]) -> None:
    path = results / "records" / "logs-0000-r1.json"
    path.write_text(path.read_text()[:500])
    (results / "study.json").unlink()
    done = assay(root, words[0], str(results), *words[1:])
    assert done.returncode == 0, done.stderr
    page = assay(root, "report", str(results), "--json")
    problems = " ".join(json.loads(page.stdout)["problems"])
    assert "study.json is missing" in problems
    assert "logs-0000-r1.json cannot be read" in problems


@pytest.mark.parametrize("words", [*READERS, ("claims", "--in")])
def test_a_folder_that_is_none_is_a_sentence(root: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    where = str(tmp_path / "nothing")
    arguments = ["claims", "scm", "--in", where] if words[0] == "claims" else [words[0], where, *words[1:]]
    done = assay(root, *arguments)
    assert done.returncode == 2
    assert "is not a folder" in done.stderr
    assert "hint: name the folder that a run wrote" in done.stderr


def test_a_folder_that_cannot_be_written_is_a_sentence(root: Path, results: Path) -> None:
    (results / "report.pdf").mkdir()
    done = assay(root, "report", str(results), "--pdf")
    assert done.returncode == 1
    assert "report.pdf cannot be written" in done.stderr
    assert not list(results.glob(".report.pdf*"))


QUOTE = '[[price]]\nitem = "p4800x-375g"\nvalue = {value}\ncurrency = "{currency}"\nunit = "each"\n'
QUOTE += 'kind = "quote"\nsource = "dealer"\ndate = "2026-10"\n'


@pytest.mark.parametrize(
    ("value", "currency", "says"), [("450", "XYZ", "exchange rate"), ("0", "USD", "zero"), ("-3", "USD", "")]
)
def test_prices_that_cannot_be_are_refused(root: Path, tmp_path: Path, value: str, currency: str, says: str) -> None:
    quotes = tmp_path / "quotes.toml"
    quotes.write_text(QUOTE.format(value=value, currency=currency))
    done = assay(root, "cost", "break-even", "--quotes", str(quotes))
    assert done.returncode == 2
    assert says in done.stderr
    assert "hint:" in done.stderr


def test_without_a_utilisation_there_is_no_ratio(root: Path) -> None:
    done = assay(root, "cost", "ratio", "--throughput", "1e6", "--threads", "4", "--storage", "p4800x-375g")
    assert done.returncode == 2
    assert "utilisation" in done.stderr
    assert "hint:" in done.stderr
