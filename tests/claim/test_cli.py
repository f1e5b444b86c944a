"""`assay claims` through the command line, on the smallest study."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from advise.folders import Bench


def assay(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(root / "python"), "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "assay", *words], capture_output=True, text=True, check=False, env=environment
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def test_published_twin_and_verdict_in_words_json_and_files(root: Path, tmp_path: Path, assayer: Path) -> None:
    del assayer
    done = assay(root, "claims", "scm", "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert "published 6.4 GB/s; twin" in done.stdout
    assert "On twins: holds" in done.stdout
    assert "not attempted" in done.stdout
    document = json.loads((tmp_path / "out" / "claims.json").read_text())
    assert document["studies"][0]["study"] == "scm"
    assert "<title>Published claims" in (tmp_path / "out" / "claims.html").read_text()


def test_a_folder_of_work_records_answers(root: Path, tmp_path: Path, assayer: Path) -> None:
    del assayer
    bench = Bench(tmp_path / "results")
    bench.work("database", "wiredtiger", "wtperf", 1000)
    bench.work("database", "wiredtiger", "wtperf", 1100, medium="memory")
    done = assay(root, "claims", "scm", "--in", str(bench.done()), "--json")
    assert done.returncode == 0, done.stderr
    (study,) = json.loads(done.stdout)["studies"]
    found = next(one for one in study["statements"] if one["statement"] == "scm.two-caches")
    assert found["on_twins"]["holds"] is None
    assert found["here"]["holds"] is True
    assert len(found["here"]["records"]) == 2


@pytest.mark.parametrize(
    ("words", "hint"), [(("dena",), "did you mean `dana`?"), (("scm", "--in", "/nowhere"), "run wrote")]
)
def test_bad_input_is_a_sentence(root: Path, words: tuple[str, ...], hint: str) -> None:
    done = assay(root, "claims", *words)
    assert done.returncode == 2
    assert hint in done.stderr
