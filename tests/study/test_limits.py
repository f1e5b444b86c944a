"""Documents that a stranger wrote: too large, too deep, too many, and numbers that are none."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from assay.document import limits
from commands import assay

_STUDY = """\
version = 1
name = "many"
title = "Many cells"
question = "How many?"
source = "a test"
targets = ["null"]
repeats = {repeats}
{head}
[matrix]
depth = {depth}

[datasets.nothing]
bytes = "1GiB"

[classes.raw]
dataset = "nothing"
path = "null"
operation = "read"
pattern = "uniform"
size = "4KiB"
depth = "{use}"

[window]
warmup = "0s"
measure = "{measure}"
"""


def study(folder: Path, **more: str) -> Path:
    usual = {"repeats": "1", "head": "", "depth": "[1]", "use": "${depth}", "measure": "10ms"}
    path = folder / "many.toml"
    path.write_text(_STUDY.format(**(usual | more)))
    return path


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"repeats": "1000000000"}, "1,000,000,000 cells"),
        ({"depth": str(list(range(1, 200_002)))}, "200,001 cells"),
        ({"measure": "160h", "repeats": "60"}, "a year at most"),
        ({"use": "${" + "(" * 100_000 + "1" + ")" * 100_000 + "}"}, "cannot be computed"),
        ({"use": "${" + "-" * 100_000 + "1}"}, "cannot be computed"),
        ({"use": "${" + "(" * 240 + "1" + ")" * 240 + "}"}, "is not an expression"),
        ({"head": "x = " + "[" * 100_000 + "]" * 100_000}, "nested more than 64 deep"),
        ({"head": "x = " + "[" * 80 + "]" * 80}, "nested more than 64 deep"),
        ({"head": "x = inf"}, "holds inf"),
        ({"head": "[parameters]\nx = nan"}, "holds nan"),
    ],
)
def test_a_study_that_asks_for_too_much_is_refused_with_the_number(
    assayer: Path, tmp_path: Path, change: dict[str, str], said: str
) -> None:
    begin = time.monotonic()
    done = assay("run", str(study(tmp_path, **change)), "--dry-run", inside=tmp_path)
    words = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 2, words[:500]
    assert said in words, words[:500]
    assert "hint" in words
    assert time.monotonic() - begin < 60, "it was counted, not made"


def test_a_document_of_many_bytes_is_not_read() -> None:
    with pytest.raises(limits.DocumentError, match="characters"):
        limits.toml("#" * (limits.LARGEST_TOML_BYTES + 1), "large.toml")


def test_a_study_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "binary.toml"
    path.write_bytes(b"\xff\xfe\x00")
    done = assay("run", str(path), "--dry-run", inside=tmp_path)
    assert done.returncode == 2
    assert "cannot be read" in done.stderr


def test_json_that_is_nested_too_deep_is_a_sentence() -> None:
    with pytest.raises(limits.DocumentError, match="nested"):
        limits.json_document("[" * 1_000_000, "record.json")
    with pytest.raises(limits.DocumentError, match="NaN"):
        limits.json_document('{"value": NaN}', "record.json")


def test_an_imported_job_file_does_not_write_over_a_file(tmp_path: Path) -> None:
    job, out = tmp_path / "job.fio", tmp_path / "mine.toml"
    job.write_text("[reads]\nrw=randread\nbs=4k\nsize=1m\nfilename=data\nioengine=psync\n")
    out.write_text("mine")
    done = assay("fio", "import", str(job), "--out", str(out), inside=tmp_path)
    assert done.returncode != 0
    assert "is there already" in done.stderr
    assert out.read_text() == "mine"


def test_a_name_that_is_no_text_is_shown_and_no_traceback(tmp_path: Path) -> None:
    name = bytes(tmp_path) + b"/no-\xff-text"
    command = [sys.executable.encode(), b"-m", b"assay", b"run", name, b"--dry-run"]
    done = subprocess.run(command, capture_output=True, check=False, timeout=60)
    assert done.returncode == 2, done.stderr
    assert b"Traceback" not in done.stderr
    assert b"no-" in done.stderr
