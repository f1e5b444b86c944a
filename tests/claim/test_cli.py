"""`assay claims` through the command line, on the smallest study."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from advise.folders import Bench
from commands import assay


def test_published_twin_and_verdict_in_words_json_and_files(tmp_path: Path, assayer: Path) -> None:
    del assayer
    done = assay("claims", "scm", "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert "published 6.4 GB/s; twin" in done.stdout
    assert "On twins: holds" in done.stdout
    assert "not attempted" in done.stdout
    document = json.loads((tmp_path / "out" / "claims.json").read_text())
    assert document["studies"][0]["study"] == "scm"
    assert "<title>Published claims" in (tmp_path / "out" / "claims.html").read_text()


def test_a_folder_of_work_records_answers(tmp_path: Path, assayer: Path) -> None:
    del assayer
    bench = Bench(tmp_path / "results")
    bench.work("database", "wiredtiger", "wtperf", 1000)
    bench.work("database", "wiredtiger", "wtperf", 1100, medium="memory")
    done = assay("claims", "scm", "--in", str(bench.done()), "--json")
    assert done.returncode == 0, done.stderr
    (study,) = json.loads(done.stdout)["studies"]
    found = next(one for one in study["statements"] if one["statement"] == "scm.two-caches")
    assert found["on_twins"]["holds"] is None
    assert found["here"]["holds"] is True
    assert len(found["here"]["records"]) == 2


@pytest.mark.parametrize(
    ("words", "hint"), [(("dena",), "did you mean `dana`?"), (("scm", "--in", "/nowhere"), "run wrote")]
)
def test_bad_input_is_a_sentence(words: tuple[str, ...], hint: str) -> None:
    done = assay("claims", *words)
    assert done.returncode == 2
    assert hint in done.stderr
