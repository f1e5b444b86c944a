"""`assay advise` through the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import assay

from advise.folders import Bench, mixed


def test_words_name_evidence_band_cost_check_and_source(logs: Path) -> None:
    done = assay("advise", str(logs))
    assert done.returncode == 0
    for word in ("Recycle log files [advised; recycle-logs]", "evidence:", "logs-0000-r1", "expected:", "costs:",
                 "check:", "source:", "--all shows them"):  # fmt: skip
        assert word in done.stdout
    assert "[no evidence;" in assay("advise", str(logs), "--all").stdout


def test_json_holds_every_rule(logs: Path) -> None:
    document = json.loads(assay("advise", str(logs), "--json").stdout)
    first = document["advice"][0]
    assert first["outcome"] == "advised"
    assert first["gain"]["low"] <= first["gain"]["ratio"] <= first["gain"]["high"]
    assert first["evidence"][0]["records"] == ["logs-0000-r1", "logs-0001-r1"]
    assert len(document["advice"]) > 12


def test_an_unknown_rule_is_named(logs: Path) -> None:
    done = assay("advise", str(logs), "--rule", "recycle-log")
    assert done.returncode == 2
    assert "did you mean `recycle-logs`?" in done.stderr


@pytest.mark.parametrize("words", [("/nowhere",), (".",)])
def test_a_folder_without_results_is_a_sentence(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = assay("advise", str(tmp_path / words[0]))
    assert done.returncode == 2
    assert "hint:" in done.stderr


def test_both_sides_are_really_run(tmp_path: Path, assayer: Path) -> None:
    """One pair on this machine: too few for a verdict, and said so; nothing is left on the target."""
    del assayer
    bench = Bench(tmp_path / "results")
    bench.add(mixed(100, "mmap", "msync"), "pages")
    bench.add(mixed(5000, "pread", "fdatasync"), "pages")
    directory, place = bench.done(), tmp_path / "place"
    place.mkdir()
    words = ("advise", str(directory), "--try", "--rule", "no-mmap-msync", "--pairs", "1", "--on", str(place), "--json")
    done = assay(*words)
    assert done.returncode == 0, done.stderr
    (tried,) = json.loads(done.stdout)["tried"]
    assert tried["outcome"] == "undecided"
    assert tried["gain"]["ratio"] > 0
    assert tried["expected"]["ratio"] == pytest.approx(50, rel=0.1)
    assert (directory / "trials" / "no-mmap-msync" / "compare.html").is_file()
    assert list(place.iterdir()) == []


def test_a_folder_cut_short_is_said_before_the_advice(logs: Path) -> None:
    whole = assay("advise", str(logs))
    assert "warning" not in whole.stderr
    record = next(iter(sorted((logs / "records").glob("*.json"))))
    record.write_text(record.read_text()[:200])
    cut = assay("advise", str(logs))
    assert cut.returncode == 0
    assert f"records/{record.name} cannot be read" in cut.stderr
