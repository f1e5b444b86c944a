"""`assay index` from outside: runs, sweeps, and pools that are not what they should be."""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import warm
from assay.untyped import Json

# Where the word lies that leads to the first leaf: the first root of a pool.
FIRST_ROOT = 8192 + 64
VERSION_AT = 8

pytestmark = pytest.mark.usefixtures("assayer")


def assay(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return warm.assay(["index", *arguments], timeout=120)


def run(memory: Path, *more: str | Path, code: int = 0) -> Json:
    usual = ("--index", "fptree", "--on", memory, "--keys", "5000", "--count", "2000", "--warmup", "0", "--json")
    done = assay("run", *usual, *more)
    assert done.returncode == code, done.stdout + done.stderr
    document: Json = json.loads(done.stdout)
    return document


@pytest.mark.parametrize("workload", ["lookup", "insert", "ycsb-a", "ycsb-d", "ycsb-e", "remove"])
def test_a_run_leaves_a_record_with_figures_and_checks(memory: Path, workload: str) -> None:
    document = run(memory, "--workload", workload, "--operations", "4000", "--threads", "2")
    record = document["records"][0]
    assert document["ops_per_s"] == record["figures"]["ops_per_s"]["value"] > 0
    assert all(check["passed"] for check in record["checks"]), record["checks"]
    assert {"contents-lookups", "contents-scan", "contents-structure", "recovered-lookups"} <= {
        check["name"] for check in record["checks"]
    }
    assert record["figures"]["ops_per_s"]["provenance"] == "emulated", "memory stands in for modules"
    assert sum(part["succeeded"] + part["empty"] for part in record["parts"]) == 4000


def test_costs_are_those_of_the_design(memory: Path) -> None:
    insert = run(memory, "--workload", "insert", "--operations", "2000")["records"][0]["figures"]
    update = run(memory, "--workload", "update", "--operations", "2000")["records"][0]["figures"]
    assert 2.0 <= insert["fences_per_op"]["value"] < 2.3, "two fences, and now and then a split"
    assert update["fences_per_op"]["value"] == update["flushes_per_op"]["value"] == 1.0


def test_keys_and_values_of_any_length(memory: Path) -> None:
    lengths = ("--key-bytes", "8-200", "--value-bytes", "0-3000")
    record = run(memory, "--workload", "ycsb-f", "--operations", "3000", *lengths)["records"][0]
    assert all(check["passed"] for check in record["checks"]), record["checks"]


def test_a_twin_makes_it_slower_and_the_record_says_so(memory: Path) -> None:
    document = run(memory, "--workload", "lookup", "--operations", "1000", "--as-if", "twin:pmem100-128g")
    record = document["records"][0]
    waits = record["subject"]["settings"]["as_if"]
    assert waits["block_read_ns"] > 50
    assert "pmem100-128g" in record["targets"][0]["target"]
    assert record["targets"][0]["emulated"]


def test_a_sweep_goes_on_where_it_was_stopped(memory: Path, tmp_path: Path) -> None:
    usual = ("study", "jungle", "--out", tmp_path, "--on", memory, "--keys", "2000", "--duration", "0.02s")
    small = (*usual, "--index", "fptree", "--threads", "1", "--json")
    planned = json.loads(assay(*small, "--dry-run").stdout)
    assert planned["totals"]["cells"] == 7
    first = assay(*small)
    assert first.returncode == 0, first.stderr
    ids = [record["run"]["id"] for record in json.loads(first.stdout)["records"]]
    kept = sorted((tmp_path / "work").iterdir())
    assert len(ids) == len(kept) == 7
    kept[3].unlink()
    again = assay(*small)
    ids_again = [record["run"]["id"] for record in json.loads(again.stdout)["records"]]
    assert len(set(ids) & set(ids_again)) == 6, "six were there, one was run again"
    other = assay(*small, "--keys", "3000")
    assert other.returncode == 2
    assert "holds a run of another sweep" in json.loads(other.stdout)["error"]["message"]
    lines = assay(*small[:-1]).stdout.splitlines()
    titles = ["index", "workload", "keys picked", "threads", "M ops/s", "CPU ns/op", "cycles/op", "U", "verdict"]
    assert [title.strip() for title in re.split(" {2,}", lines[0])] == titles, "nothing is cut off where it is piped"
    assert len(lines) == 1 + 7 + 1
    assert all("\N{HORIZONTAL ELLIPSIS}" not in line for line in lines)


def test_the_list_names_all_six_and_then_rivals() -> None:
    names = [one["name"] for one in json.loads(assay("list", "--json").stdout)]
    assert names[:6] == ["fptree", "bztree", "dash-eh", "dash-lh", "ssd-btree", "ssd-hash"]
    assert "lmdb" in names[6:]


def refusal(memory: Path, *more: str | Path, code: int) -> str:
    return str(run(memory, "--workload", "lookup", "--operations", "100", *more, code=code)["error"]["message"])


@pytest.fixture
def pool(memory: Path) -> Path:
    """A pool with a tree in it, closed."""
    path = memory / "pool"
    run(memory, "--workload", "lookup", "--operations", "100", "--pool-file", path, "--pool", "16MiB")
    return path


def overwrite(path: Path, at: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


def test_a_kept_pool_is_opened_again_with_all_in_it(memory: Path, pool: Path) -> None:
    record = run(memory, "--workload", "lookup", "--operations", "100", "--pool-file", pool)["records"][0]
    assert "load_ops_per_s" not in record["figures"], "nothing was loaded"
    assert all(check["passed"] for check in record["checks"])


def test_a_pool_with_other_entries_fails_its_check(memory: Path, pool: Path) -> None:
    document = run(memory, "--workload", "lookup", "--operations", "100", "--pool-file", pool, "--seed", "9", code=1)
    assert document["records"][0]["verdict"]["status"] == "invalid"


def test_a_pool_that_is_wrong_is_refused_with_what_was_seen(memory: Path, pool: Path) -> None:
    good = pool.read_bytes()
    assert "holds" in refusal(memory, "--pool-file", pool, "--key-bytes", "16", code=1)
    for at, data, said in [
        (VERSION_AT, struct.pack("<I", 9), "version 9"),
        (0, bytes(8), "no"),
        (FIRST_ROOT, struct.pack("<Q", 0x123), "no leaf can lie there"),
        (FIRST_ROOT, struct.pack("<Q", 1 << 40), "no leaf can lie there"),
    ]:
        overwrite(pool, at, data)
        assert said in refusal(memory, "--pool-file", pool, code=1)
        overwrite(pool, 0, good[: 1 << 16])
    os.truncate(pool, 1 << 20)
    assert "1048576 bytes where its header says" in refusal(memory, "--pool-file", pool, code=1)


@pytest.mark.parametrize("index", ["dash-eh", "dash-lh", "bztree"])
def test_a_root_that_leads_elsewhere_ends_the_run_with_what_was_seen(memory: Path, index: str) -> None:
    """Seen as a run that never ended: its threads had panicked, and it waited for them."""
    pool = memory / "pool"
    run(memory, "--index", index, "--workload", "lookup", "--operations", "100", "--pool-file", pool)
    good = pool.read_bytes()
    for root in (0x123, 1 << 40, 8192):
        overwrite(pool, FIRST_ROOT, struct.pack("<Q", root))
        said = refusal(memory, "--index", index, "--pool-file", pool, code=1)
        assert "damaged" in said, f"{root:#x}: {said}"
        pool.write_bytes(good)


def test_a_pool_that_is_full_says_so(memory: Path) -> None:
    full = ("--keys", "1e6", "--pool", "4MiB")
    assert "the pool is full" in refusal(memory, *full, code=1)
    record = run(memory, "--workload", "insert", "--operations", "1e6", "--pool", "4MiB", code=1)["records"][0]
    assert record["parts"][0]["failed"] == 1
    others = [check for check in record["checks"] if check["name"] != "failures"]
    assert all(check["passed"] for check in others), "what was there stayed"


def test_two_processes_do_not_share_a_pool(memory: Path, pool: Path, tmp_path: Path) -> None:
    usual: Sequence[str | Path] = ("run", "--index", "fptree", "--on", memory, "--keys", "5000", "--json")
    command = [sys.executable, "-m", "assay", "index", *map(str, usual), "--workload", "lookup", "--duration", "60s"]
    said = tmp_path / "first.json"
    with said.open("w") as out, subprocess.Popen([*command, "--pool-file", str(pool)], stdout=out) as first:
        try:
            message = ""
            for _ in range(200):
                done = assay(*usual, "--workload", "lookup", "--operations", "10", "--pool-file", pool)
                # Either of the two may have been there first: the other one is told.
                told = done.stdout if done.returncode != 0 else said.read_text() if first.poll() is not None else ""
                if told:
                    message = json.loads(told)["error"]["message"]
                    break
            assert "both would be measured at once" in message
        finally:
            first.terminate()
            first.wait(30)


@pytest.mark.parametrize("index", ["fptree", "bztree", "dash-eh", "dash-lh"])
def test_an_option_that_an_index_does_not_have_is_refused(memory: Path, index: str) -> None:
    """Indexes in memory once took any option, and ignored it."""
    for option in ("nonsense=1", "recovery_threads=0", "io=pread"):
        assert "is not known" in refusal(memory, "--index", index, "--set", option, code=2)


def test_a_recovery_by_as_many_threads_as_are_asked_for(memory: Path) -> None:
    for threads in (1, 3):
        given = ("--set", f"recovery_threads={threads}", "--operations", "100", "--keys", "100000", "--pool", "32MiB")
        record = run(memory, "--workload", "lookup", *given)["records"][0]
        assert record["subject"]["settings"]["recovery_threads"] == threads
        assert all(check["passed"] for check in record["checks"]), record["checks"]


def test_what_cannot_be_is_refused_before_anything_is_made(memory: Path) -> None:
    assert "2000 to 2000 bytes" in refusal(memory, "--key-bytes", "2000", code=2)
    assert "does not exist" in refusal(memory, "--on", memory / "nowhere", code=2)
    assert "has no order" in str(
        run(memory, "--index", "dash-eh", "--workload", "scan", "--operations", "1", code=2)["error"]["message"]
    )
