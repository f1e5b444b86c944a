"""`assayer run` takes a job of any kind, and says which program does it where that one is not there."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from assay.home import binary, second_program
from assay.untyped import Json

pytestmark = pytest.mark.usefixtures("assayer")

INDEX: Json = {
    "version": 1,
    "name": "one",
    "kind": "index",
    "index": "ssd-btree",
    "workload": "lookup",
    "keys": 2000,
    "threads": 1,
    "warmup_s": 0.0,
    "window": {"seconds": 0.1},
}
IO: Json = {
    "version": 1,
    "name": "one",
    "kind": "io",
    "window": {"measure_s": 0.1},
    "targets": [{"id": "here", "kind": "null"}],
    "datasets": [{"name": "d", "target": "here", "bytes": 1 << 20}],
    "classes": [
        {
            "name": "c",
            "dataset": "d",
            "path": {"kind": "null"},
            "operation": {"kind": "read"},
            "pattern": {"kind": "uniform"},
            "size": 4096,
        }
    ],
}


def run(program: Path, job: Json, named: Path | None = None) -> tuple[int, list[Json]]:
    text = json.dumps(job)
    if named is not None:
        named.write_text(text, encoding="utf-8")
    words = [str(program), "run", "-" if named is None else str(named)]
    done = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("named", [False, True], ids=["standard input", "file"])
def test_a_job_of_an_index_is_done_by_the_second_program(tmp_path: Path, *, named: bool) -> None:
    second_program()
    job = INDEX | {"target": str(tmp_path)}
    code, events = run(binary(), job, tmp_path / "job.json" if named else None)
    assert (code, events[0]["event"], events[-1]["event"]) == (0, "started", "worked"), events
    assert events[-1]["record"]["kind"] == "index"


def test_a_job_that_says_it_is_of_io_is_done_here() -> None:
    code, events = run(binary(), IO)
    assert (code, events[-1]["event"]) == (0, "finished"), events


@pytest.mark.parametrize("kind", ["vacuum", "index"])
def test_what_cannot_be_done_is_refused_in_words(tmp_path: Path, kind: str) -> None:
    program = tmp_path / "assayer"
    shutil.copy2(binary(), program)
    if kind == "vacuum":
        shutil.copy2(second_program(), tmp_path / "assayer-db")
    code, events = run(program, INDEX | {"target": str(tmp_path), "kind": kind})
    wanted = (2, "there is no kind of job vacuum") if kind == "vacuum" else (4, "`assayer run` of kind `index`")
    assert (code, events[-1]["event"]) == (wanted[0], "refused"), events
    assert wanted[1] in events[-1]["reason"]
    assert events[-1]["fix"]
