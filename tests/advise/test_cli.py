"""`assay advise` through the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from advise.folders import Bench, append, mixed


def assay(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(root / "python"), "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "assay", *words], capture_output=True, text=True, check=False, env=environment
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    bench = Bench(tmp_path / "results")
    bench.add(append(1000), "logs", layout="grow")
    bench.add(append(3000), "logs")
    return bench.done()


def test_words_name_evidence_band_cost_check_and_source(root: Path, folder: Path) -> None:
    done = assay(root, "advise", str(folder))
    assert done.returncode == 0
    for word in ("Recycle log files [advised; recycle-logs]", "evidence:", "logs-0000-r1", "expected:", "costs:",
                 "check:", "source:", "--all shows them"):  # fmt: skip
        assert word in done.stdout
    assert "[no evidence;" in assay(root, "advise", str(folder), "--all").stdout


def test_json_holds_every_rule(root: Path, folder: Path) -> None:
    document = json.loads(assay(root, "advise", str(folder), "--json").stdout)
    first = document["advice"][0]
    assert first["outcome"] == "advised"
    assert first["gain"]["low"] <= first["gain"]["ratio"] <= first["gain"]["high"]
    assert first["evidence"][0]["records"] == ["logs-0000-r1", "logs-0001-r1"]
    assert len(document["advice"]) > 12


def test_an_unknown_rule_is_named(root: Path, folder: Path) -> None:
    done = assay(root, "advise", str(folder), "--rule", "recycle-log")
    assert done.returncode == 2
    assert "did you mean `recycle-logs`?" in done.stderr


@pytest.mark.parametrize("words", [("/nowhere",), (".",)])
def test_a_folder_without_results_is_a_sentence(root: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    done = assay(root, "advise", str(tmp_path / words[0]))
    assert done.returncode == 2
    assert "hint:" in done.stderr


def test_both_sides_are_really_run(root: Path, tmp_path: Path, assayer: Path) -> None:
    """One pair on this machine: too few for a verdict, and said so; nothing is left on the target."""
    del assayer
    bench = Bench(tmp_path / "results")
    bench.add(mixed(100, "mmap", "msync"), "pages")
    bench.add(mixed(5000, "pread", "fdatasync"), "pages")
    directory, place = bench.done(), tmp_path / "place"
    place.mkdir()
    words = ("advise", str(directory), "--try", "--rule", "no-mmap-msync", "--pairs", "1", "--on", str(place), "--json")
    done = assay(root, *words)
    assert done.returncode == 0, done.stderr
    (tried,) = json.loads(done.stdout)["tried"]
    assert tried["outcome"] == "undecided"
    assert tried["gain"]["ratio"] > 0
    assert tried["expected"]["ratio"] == pytest.approx(50, rel=0.1)
    assert (directory / "trials" / "no-mmap-msync" / "compare.html").is_file()
    assert list(place.iterdir()) == []
