"""`assay index` on twins, from outside: modelled, the same each time, and refused where it cannot be."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from assay.untyped import Json

pytestmark = pytest.mark.usefixtures("assayer")


def assay(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "assay", "index", "run", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def run(index: str, on: str, *more: str) -> Json:
    keys = "20000" if index.startswith("ssd-") else "5000"
    usual = ("--workload", "ycsb-a", "--keys", keys, "--operations", "3000", "--turn", "400ns")
    done = assay("--index", index, "--on", on, *usual, *more, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    document: Json = json.loads(done.stdout)["records"][0]
    return document


@pytest.mark.parametrize("index", ["fptree", "bztree", "dash-eh", "dash-lh", "ssd-btree", "ssd-hash"])
def test_each_index_is_played_on_a_twin(index: str) -> None:
    drive = index.startswith("ssd-")
    on, more = ("twin:p4800x", ("--pool", "256KiB")) if drive else ("twin:pmem100-128g*4", ("--cache", "64KiB"))
    record = run(index, on, "--threads", "4", *more)
    rate = record["figures"]["ops_per_s"]
    assert rate["provenance"] == "modelled"
    assert rate["band"]["low"] < rate["value"] < rate["band"]["high"]
    assert record["targets"] == [{"role": "data", "target": on, "emulated": False}]
    assert record["verdict"]["status"] == "valid"
    assert all(check["passed"] for check in record["checks"]), record["checks"]
    assert {"modelled-target"} <= {reason["code"] for reason in record["verdict"]["reasons"]}
    assert record["subject"]["settings"]["bound_by"] in ("cpu", "latency", "device")


@pytest.mark.parametrize("index", ["bztree", "dash-eh"])
def test_the_same_command_gives_the_same_answer(index: str) -> None:
    first, second = (run(index, "twin:pmem100-128g*2", "--threads", "3", "--cache", "64KiB") for _ in range(2))
    assert first["figures"] == second["figures"]
    assert first["subject"]["settings"] == second["subject"]["settings"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--index", "fptree", "--on", "twin:pmem100-128gb*4"), "pmem100-128g"),
        (("--index", "fptree", "--on", "twin:pmem100-128g*4", "--threads", "0"), "--threads"),
        (("--index", "fptree", "--on", "twin:pmem100-128g*4", "--threads", "37"), "36 hardware threads"),
        (("--index", "fptree", "--on", "twin:p4800x"), "is none"),
        (("--index", "ssd-hash", "--on", "twin:pmem100-128g"), "is memory"),
        (("--index", "fptree", "--on", "twin:pmem100-128g", "--as-if", "twin:pmem100-128g"), "--as-if"),
        (("--index", "ssd-hash", "--on", "twin:p4800x", "--path", "pread", "--batch", "8"), "one page in flight"),
        (("--index", "fptree", "--turn", "1us"), "are for twins"),
    ],
)
def test_what_cannot_be_played_is_refused_with_a_sentence(arguments: tuple[str, ...], said: str) -> None:
    done = assay(*arguments, "--workload", "lookup", "--keys", "1000", "--operations", "10")
    assert done.returncode == 2, done.stdout + done.stderr
    assert said in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
