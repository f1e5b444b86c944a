"""`assay index` on files that are no index, or not the whole one: a sentence, an exit code, and nothing is changed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import warm
from assay.untyped import Json

IN_MEMORY = ["fptree", "bztree", "dash-eh", "dash-lh"]
ON_A_DRIVE = ["ssd-btree", "ssd-hash"]
ALL = IN_MEMORY + ON_A_DRIVE
HEADER_BYTES = 4096

pytestmark = pytest.mark.usefixtures("assayer")


def command(memory: Path, index: str, *more: str | Path) -> list[str]:
    usual = ("--keys", "3000", "--count", "0", "--warmup", "0", "--json", "--operations", "100")
    workload = () if "--workload" in more else ("--workload", "lookup")
    words = ("run", "--index", index, "--on", memory, *usual, *workload, *more)
    return [sys.executable, "-m", "assay", "index", *map(str, words)]


def run(memory: Path, index: str, *more: str | Path, code: int = 0) -> Json:
    done = warm.assay(command(memory, index, *more)[3:], timeout=120)
    assert done.returncode == code, f"{index} {more}: {done.stdout}{done.stderr}"
    document: Json = json.loads(done.stdout)
    return document


def refusal(memory: Path, index: str, *more: str | Path, code: int = 1) -> str:
    error: Json = run(memory, index, *more, code=code)["error"]
    assert error["hint"], "what to do about it"
    return str(error["message"])


def made(memory: Path, index: str) -> Path:
    """A file with an index in it, closed."""
    file = memory / "pool"
    run(memory, index, "--pool-file", file, "--pool", "8MiB" if index in ON_A_DRIVE else "4MiB")
    return file


def holds_all(memory: Path, index: str, file: Path) -> None:
    record = run(memory, index, "--pool-file", file)["records"][0]
    assert "load_ops_per_s" not in record["figures"], "nothing was loaded"
    assert all(check["passed"] for check in record["checks"]), record["checks"]


def state(file: Path) -> tuple[int, int, bytes]:
    """What must not change. Stores to a mapping leave no time, so a pool is read; a file on a drive is too large."""
    facts = file.stat()
    return facts.st_size, facts.st_mtime_ns, file.read_bytes() if facts.st_size <= 4 << 20 else b""


@pytest.mark.parametrize("index", ALL)
def test_a_file_that_was_cut_short_is_refused_and_left_as_it_is(memory: Path, index: str) -> None:
    file = made(memory, index)
    whole = file.stat().st_size
    for length in (whole - 1, 8192, 100):
        os.truncate(file, length)
        before = state(file)
        said = refusal(memory, index, "--pool-file", file)
        assert f"{whole}" in said or "no pool is" in said, f"{length}: {said}"
        assert state(file) == before, f"{length}: it was written to"


@pytest.mark.parametrize("index", ALL)
def test_a_file_of_another_index_is_refused_by_name_and_keeps_what_it_holds(memory: Path, index: str) -> None:
    file = made(memory, index)
    family = IN_MEMORY if index in IN_MEMORY else ON_A_DRIVE
    other = family[(family.index(index) + 1) % len(family)]
    said = refusal(memory, other, "--pool-file", file)
    assert f'not "{other.replace("ssd-btree", "ssdbtree")[:8]}' in said, said
    assert "\\" not in said, f"names, and no bytes: {said}"
    stranger = "ssd-btree" if index in IN_MEMORY else "fptree"
    assert "no pool is" in refusal(memory, stranger, "--pool-file", file)
    holds_all(memory, index, file)


@pytest.mark.parametrize("index", ALL)
def test_a_file_that_never_was_one_is_refused_and_left_as_it_is(memory: Path, index: str) -> None:
    file = memory / "pool"
    for content in (b"", b"#!/bin/sh\n" * 4000):
        file.write_bytes(content)
        assert "no pool is" in refusal(memory, index, "--pool-file", file)
        assert file.read_bytes() == content
    if index in ON_A_DRIVE:
        file.write_bytes(b"x" * 5000)
        said = refusal(memory, index, "--pool-file", file)
        assert "4096 bytes in whole blocks, and a pool begins with 131072" in said, said
    file.unlink()
    assert "is a folder" in refusal(memory, index, "--pool-file", memory, code=2)
    assert "No such file" in refusal(memory, index, "--pool-file", memory / "nowhere" / "pool")


@pytest.mark.parametrize("index", IN_MEMORY)
def test_zeros_over_the_header_are_no_reason_to_remove_a_pool(memory: Path, index: str) -> None:
    file = made(memory, index)
    with file.open("r+b") as opened:
        header = opened.read(HEADER_BYTES)
        opened.seek(0)
        opened.write(bytes(HEADER_BYTES))
    assert "it was opened" in refusal(memory, index, "--pool-file", file)
    with file.open("r+b") as opened:
        opened.write(header)
    holds_all(memory, index, file)


@pytest.mark.parametrize("index", IN_MEMORY)
def test_words_that_are_overwritten_end_a_run_with_a_record_or_a_sentence(memory: Path, index: str) -> None:
    """A check once met the damage first, panicked, and there was no record and no word."""
    file = made(memory, index)
    good = file.read_bytes()
    used = [at for at in range(16384, len(good), 4096) if any(good[at : at + 4096])]
    for turn, at in enumerate(used[:: max(1, len(used) // 5)]):
        with file.open("r+b") as opened:
            opened.seek(at + 24)
            opened.write((0x0102030405060708 * (turn + 1) % (1 << 64)).to_bytes(8, "little"))
        done = subprocess.run(
            command(memory, index, "--pool-file", file), capture_output=True, text=True, check=False, timeout=60
        )
        document: Json = json.loads(done.stdout)
        assert done.returncode in (0, 1), f"{at:#x}: {done.stdout}{done.stderr}"
        assert "records" in document or "damaged" in document["error"]["message"], f"{at:#x}: {document}"
        file.write_bytes(good)


@pytest.mark.parametrize("index", IN_MEMORY)
def test_a_pool_that_is_full_says_so_and_keeps_what_is_there(memory: Path, index: str) -> None:
    full = ("--keys", "1e6", "--pool", "4MiB")
    assert "the pool is full" in refusal(memory, index, *full)
    more = ("--workload", "insert", "--operations", "1e6", "--threads", "2", "--pool", "4MiB")
    record = run(memory, index, *more, code=1)["records"][0]
    assert 1 <= record["parts"][0]["failed"] <= 2, "each thread stops where there is no room"
    others = [check for check in record["checks"] if check["name"] != "failures"]
    assert all(check["passed"] for check in others), others
    assert "bytes are the least" in refusal(memory, index, "--pool", "64KiB")


@pytest.mark.parametrize("index", ALL)
def test_a_file_that_another_process_has_open_is_refused_and_neither_is_disturbed(
    memory: Path, index: str, tmp_path: Path
) -> None:
    file, out = made(memory, index), tmp_path / "first.json"
    with out.open("w") as stdout:
        endless = command(memory, index, "--pool-file", file, "--operations", "1e12")
        first = subprocess.Popen(endless, stdout=stdout, stderr=subprocess.DEVNULL)
    try:
        told, deadline = "", time.monotonic() + 60
        while not told and time.monotonic() < deadline:
            second = subprocess.run(
                command(memory, index, "--pool-file", file), capture_output=True, text=True, check=False, timeout=60
            )
            # Either of the two may have been there first: the other one is told.
            told = second.stdout if second.returncode != 0 else out.read_text() if first.poll() is not None else ""
        assert "both would be measured at once" in json.loads(told)["error"]["message"]
    finally:
        first.terminate()
        first.wait(60)
    holds_all(memory, index, file)


@pytest.mark.parametrize(("index", "most"), [("fptree", 1024), ("dash-lh", 1024), ("ssd-btree", 512)])
def test_a_key_or_a_value_that_is_too_long_is_a_bad_job(memory: Path, index: str, most: int) -> None:
    record = run(memory, index, "--key-bytes", str(most), "--keys", "50")["records"][0]
    assert all(check["passed"] for check in record["checks"]), record["checks"]
    assert f"{most + 1}" in refusal(memory, index, "--key-bytes", str(most + 1), "--keys", "50", code=2)
    assert "20000" in refusal(memory, index, "--value-bytes", "20000", code=2)
