"""What is wrong with a folder is a sentence with what to do, through the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import assay

READERS = (("report",), ("advise", "--all"))


def change(path: Path, **values: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_records_of_two_versions_are_told_apart(logs: Path) -> None:
    change(logs / "records" / "logs-0000-r1.json", version=2)
    done = assay("report", str(logs), "--json")
    assert done.returncode == 0
    (problem,) = json.loads(done.stdout)["problems"]
    assert "logs-0000-r1.json has version 2, this report reads version 1; use the assay that wrote it" in problem
    advice = json.loads(assay("advise", str(logs), "--json").stdout)["advice"]
    assert {one["outcome"] for one in advice} == {"no evidence"}
    compared = assay("compare", f"{logs}/logs-0000-r1", f"{logs}/logs-0001-r1")
    assert compared.returncode == 2
    assert "has version 2" in compared.stderr
    assert "hint:" in compared.stderr


@pytest.mark.parametrize("words", READERS)
def test_a_folder_of_another_version_alone_is_refused(logs: Path, words: tuple[str, ...]) -> None:
    for path in (logs / "records").glob("*.json"):
        change(path, version=9)
    (logs / "plan.json").unlink()
    done = assay(words[0], str(logs), *words[1:])
    assert done.returncode == 2
    assert "version 9" in done.stderr
    assert "hint:" in done.stderr


@pytest.mark.parametrize("words", READERS)
def test_a_folder_cut_short_is_read_as_far_as_it_goes(logs: Path, words: tuple[str, ...]) -> None:
    path = logs / "records" / "logs-0000-r1.json"
    path.write_text(path.read_text()[:500])
    (logs / "study.json").unlink()
    done = assay(words[0], str(logs), *words[1:])
    assert done.returncode == 0, done.stderr
    page = assay("report", str(logs), "--json")
    problems = " ".join(json.loads(page.stdout)["problems"])
    assert "study.json is missing" in problems
    assert "logs-0000-r1.json cannot be read" in problems


@pytest.mark.parametrize("words", [*READERS, ("claims", "--in")])
def test_a_folder_that_is_none_is_a_sentence(tmp_path: Path, words: tuple[str, ...]) -> None:
    where = str(tmp_path / "nothing")
    arguments = ["claims", "scm", "--in", where] if words[0] == "claims" else [words[0], where, *words[1:]]
    done = assay(*arguments)
    assert done.returncode == 2
    assert "is not a folder" in done.stderr
    assert "hint: name the folder that a run wrote" in done.stderr


def test_a_folder_that_cannot_be_written_is_a_sentence(logs: Path) -> None:
    (logs / "report.pdf").mkdir()
    done = assay("report", str(logs), "--pdf")
    assert done.returncode == 1
    assert "report.pdf cannot be written" in done.stderr
    assert not list(logs.glob(".report.pdf*"))


QUOTE = '[[price]]\nitem = "p4800x-375g"\nvalue = {value}\ncurrency = "{currency}"\nunit = "each"\n'
QUOTE += 'kind = "quote"\nsource = "dealer"\ndate = "2026-10"\n'


@pytest.mark.parametrize(
    ("value", "currency", "says"), [("450", "XYZ", "exchange rate"), ("0", "USD", "zero"), ("-3", "USD", "")]
)
def test_prices_that_cannot_be_are_refused(tmp_path: Path, value: str, currency: str, says: str) -> None:
    quotes = tmp_path / "quotes.toml"
    quotes.write_text(QUOTE.format(value=value, currency=currency))
    done = assay("cost", "break-even", "--quotes", str(quotes))
    assert done.returncode == 2
    assert says in done.stderr
    assert "hint:" in done.stderr


def test_without_a_utilisation_there_is_no_ratio() -> None:
    done = assay("cost", "ratio", "--throughput", "1e6", "--threads", "4", "--storage", "p4800x-375g")
    assert done.returncode == 2
    assert "utilisation" in done.stderr
    assert "hint:" in done.stderr
