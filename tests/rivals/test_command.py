"""`assay rivals`, and what commands say of rivals that were not built; where some were, runs of them."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from assay import rivals
from assay.bench.beside import ContestResult, Missing, results
from assay.bench.contest import CONTESTS, Size, named, pool_bytes
from assay.error import BAD_JOB, FAILED, NOT_POSSIBLE, AssayError
from assay.rivals import build
from assay.rivals.build import rocksdb
from assay.study.cell import Cell
from assay.study.plan import in_order

BUILT = {str(one["name"]) for one in rivals.listed()}


def assay(*arguments: str | Path, program: str | Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "assay", *map(str, arguments)]
    # Where another program is named, nothing that this user has built counts.
    apart = {"ASSAY_RIVALS": str(program), "XDG_CACHE_HOME": "/nowhere"}
    environment = os.environ | ({} if program is None else apart)
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=environment)


@pytest.fixture
def stand_in(tmp_path: Path) -> Path:
    """A program that says that it has LMDB, and refuses every job."""
    path = tmp_path / "assay-rivals"
    refusal = '{"event": "refused", "reason": "it is a stand-in", "fix": "build the real one", "exit_code": 4}'
    path.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = list ]; then echo \'[{"name": "lmdb", "version": "0.9", "durabilities": ["none", "fsync"]}]\'; '
        f"else cat > /dev/null; echo '{refusal}'; exit 4; fi\n"
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.mark.parametrize(
    "words",
    [
        ("index", "run", "--index", "rocksdb", "--workload", "lookup"),
        ("dbms", "tpcc", "--engine", "rocksdb", "--warehouses", "1"),
        ("rivals", "bench", "--rival", "rocksdb"),
    ],
)
def test_a_rival_that_was_not_built_says_how_to_build_it(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = assay(*words, "--on", tmp_path, "--json", program=tmp_path / "gone")
    assert done.returncode == NOT_POSSIBLE, done.stdout + done.stderr
    said = done.stdout + done.stderr
    assert "rocksdb was not built" in said
    assert "assay rivals build rocksdb" in said
    assert list(tmp_path.iterdir()) == []


def test_without_any_the_lists_say_how_to_build_them(tmp_path: Path) -> None:
    listed = assay("rivals", "list", "--json", program=tmp_path / "gone")
    assert [(one["name"], one["built"]) for one in json.loads(listed.stdout)] == [
        (name, False) for name in (*rivals.NAMES, *rivals.PUBLISHED)
    ]
    assert "assay rivals build lmdb" in assay("rivals", "list", program=tmp_path / "gone").stdout
    bench = assay("rivals", "bench", "--on", tmp_path, program=tmp_path / "gone")
    assert bench.returncode == NOT_POSSIBLE
    assert "assay rivals build" in bench.stderr


@pytest.mark.usefixtures("assayer")
def test_the_measuring_program_has_none_and_says_so(assayer: Path, tmp_path: Path) -> None:
    job = {"version": 1, "name": "r", "index": "lmdb", "target": str(tmp_path), "workload": "lookup", "keys": 10}
    job |= {"threads": 1, "warmup_s": 0, "window": {"operations": 10}}
    done = subprocess.run([assayer, "index", "-"], input=json.dumps(job), capture_output=True, text=True, check=False)
    assert done.returncode == NOT_POSSIBLE
    assert "assay rivals build lmdb" in done.stderr


@pytest.mark.usefixtures("assayer")
def test_one_that_was_built_is_listed_and_gets_the_job(stand_in: Path, tmp_path: Path) -> None:
    listed = {
        one["name"]: one["there"] for one in json.loads(assay("index", "list", "--json", program=stand_in).stdout)
    }
    assert listed["lmdb"]
    assert listed["fptree"]
    assert not listed["rocksdb"]
    assert "0.9, durability none or fsync" in assay("rivals", "list", program=stand_in).stdout
    run = assay("index", "run", "--index", "lmdb", "--workload", "lookup", "--on", tmp_path, program=stand_in)
    assert run.returncode == NOT_POSSIBLE
    assert "it is a stand-in" in run.stderr
    assert "build the real one" in run.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--contest", "tpcc-memory"), "--durability fsync"),
        (("--contest", "ycsb-a", "--durability", "fsync"), "--contest tpcc-memory"),
    ],
)
def test_a_server_meets_only_what_it_can(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    done = assay("rivals", "bench", "--rival", "postgres", "--on", tmp_path, *words)
    assert done.returncode == BAD_JOB, done.stdout + done.stderr
    assert said in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_built_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match="no rival `leveldb`") as unknown:
        build(["leveldb"])
    assert unknown.value.code == BAD_JOB
    with pytest.raises(AssayError, match="RocksDB's library is not installed") as missing:
        rocksdb({}, folders=[tmp_path])
    assert "apt-get install librocksdb-dev" in str(missing.value.hint)
    header = tmp_path / "include" / "rocksdb" / "c.h"
    header.parent.mkdir(parents=True)
    header.touch()
    assert rocksdb({"ROCKSDB_LIB_DIR": str(tmp_path / "lib")}, folders=[]) == {
        "ROCKSDB_INCLUDE_DIR": str(tmp_path / "include")
    }


@pytest.mark.usefixtures("assayer")
def test_a_rival_that_fails_is_named_and_the_contests_go_on(stand_in: Path, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    words = ("rivals", "bench", "--contest", "cold-lookups", "--keys", "2000", "--on", tmp_path / "data", "--json")
    done = assay(*words, "--repeats", "1", "--out", tmp_path / "out", program=stand_in)
    assert done.returncode == FAILED, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert [(one["ours"], one["rival"], one["fix"]) for one in found] == [
        ("ssd-btree", "lmdb", "build the real one"),
        ("ssd-hash", "lmdb", "build the real one"),
    ]
    assert all("it is a stand-in" in one["reason"] for one in found)
    assert list((tmp_path / "data").iterdir()) == []


STUDY = """
name = "mine"
title = "Ours beside PostgreSQL"
question = "Which does more?"
source = "none"

[matrix]
side = ["ours", "rival"]

[work]
kind = "contest"
contest = "tpcc-memory"
ours = "assay"
rival = "postgres"
side = "${side}"
warehouses = 1
duration = "200ms"
durability = "fsync"
"""


def test_a_study_of_contests_is_planned_with_both_sides_beside_each_other(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(STUDY)
    words = ("run", tmp_path / "mine.toml", "--on", tmp_path, "--dry-run", "--json", "--repeats", "2")
    done = assay(*words)
    assert done.returncode == 0, done.stderr
    cells = sorted(json.loads(done.stdout)["cells"], key=lambda cell: int(cell["order"]))
    assert [cell["repeat"] for cell in cells] == [1, 1, 2, 2]
    assert len({cell["job"]["beside"] for cell in cells}) == 1
    assert {cell["job"]["asked"]["side"] for cell in cells[:2]} == {"ours", "rival"}
    (tmp_path / "mine.toml").write_text(STUDY.replace('rival = "postgres"', 'rival = "postgres"\nkeys = "x"'))
    assert "x is no count" in assay(*words).stdout
    (tmp_path / "mine.toml").write_text(STUDY.replace("tpcc-memory", "ycsb-a"))
    assert "postgres does not meet assay in ycsb-a" in assay(*words).stdout


def cell(meeting: str, side: str, repeat: int) -> Cell:
    asked = {"contest": meeting, "ours": "ssd-hash", "rival": "lmdb", "side": side}
    job = {"asked": asked, "beside": f"{meeting}: ssd-hash beside lmdb"}
    return Cell(f"c-{meeting}-{side}-r{repeat}", "c", "all", repeat, {}, job)


def test_turns_of_a_pair_are_adjacent_in_random_order() -> None:
    cells = [cell(one, side, repeat) for one in ("ycsb-a", "ycsb-b", "ycsb-c") for side in ("ours", "rival")
             for repeat in (1, 2, 3, 4)]  # fmt: skip
    firsts = set()
    for seed in range(8):
        ordered = in_order(cells, seed)
        assert sorted(one.id for one in ordered) == sorted(one.id for one in cells)
        for first, second in zip(ordered[::2], ordered[1::2], strict=True):
            assert (first.job["beside"], first.repeat) == (second.job["beside"], second.repeat), f"seed {seed}"
            firsts.add(first.job["asked"]["side"])
    assert firsts == {"ours", "rival"}


def test_pairs_are_read_out_of_records_and_what_was_missed_is_said() -> None:
    def record(per_s: float) -> Any:
        cpu = {"user_s": {"value": 1e-6}, "kernel_s": {"value": 0.0}}
        figures = {"succeeded_per_s": {"value": per_s}}
        parts = [{"succeeded": 10, "empty": 0}]
        whole = {"figures": figures, "cpu": cpu, "durability": "none", "checks": [], "parts": parts}
        return {**whole, "verdict": {"status": "valid"}}

    cells = [cell(one, side, repeat) for one in ("ycsb-a", "ycsb-b") for side in ("ours", "rival") for repeat in (1, 2)]
    records = {one.id: record(300.0 if one.job["asked"]["side"] == "ours" else 100.0) for one in cells[:4]}
    missed = [{"reason": "it is gone", "fix": "build it", "cells": [cells[6].id]}]
    pair, gone = results(cells, records, missed)
    assert isinstance(pair, ContestResult)
    assert pair.faster.median == pytest.approx(3.0)
    assert pair.per_s == ([300.0, 300.0], [100.0, 100.0])
    assert gone == Missing("ycsb-b", "ssd-hash", "lmdb", "it is gone", "build it")


def test_contests_by_name_and_their_pools() -> None:
    assert named([]) == list(CONTESTS)
    cold = named(["cold-lookups"])[0]
    assert pool_bytes(cold, Size(keys=1_000_000)) == 30 << 20
    with pytest.raises(AssayError, match="no contest"):
        named(["warm"])


@pytest.mark.usefixtures("assayer")
@pytest.mark.parametrize("name", rivals.NAMES)
def test_a_built_rival_runs_with_its_durability_beside_the_figure(name: str, tmp_path: Path) -> None:
    if name not in BUILT:
        pytest.skip(f"{name} was not built: assay rivals build {name}")
    usual = ("--index", name, "--on", tmp_path, "--keys", "2000", "--operations", "500", "--warmup", "0s", "--json")
    done = assay("index", "run", *usual, "--workload", "ycsb-a", "--set", "durability=fsync")
    assert done.returncode == 0, done.stdout + done.stderr
    record = json.loads(done.stdout)["records"][0]
    assert record["subject"]["name"] == name
    assert record["durability"] == "fsync per commit or group"
    assert all(check["passed"] for check in record["checks"])
    assert list(tmp_path.iterdir()) == []
    wrong = assay("index", "run", *usual, "--workload", "ycsb-a", "--set", "shape=round")
    assert wrong.returncode == BAD_JOB
    assert "durability (none, wal, fsync)" in wrong.stdout + wrong.stderr


@pytest.mark.usefixtures("assayer")
@pytest.mark.parametrize("name", rivals.NAMES)
def test_a_built_rival_runs_tpcc_with_every_condition_checked(name: str, tmp_path: Path) -> None:
    if name not in BUILT:
        pytest.skip(f"{name} was not built: assay rivals build {name}")
    words = ("dbms", "tpcc", "--engine", name, "--on", tmp_path, "--small", "--warehouses", "2", "--duration", "1s")
    done = assay(*words, "--ramp", "0s", "--synchronous", "off", "--out", tmp_path / "out", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    record = json.loads(done.stdout)[0]
    assert (record["subject"]["name"], record["durability"]) == (name, "none")
    assert len(record["checks"]) == 14
    assert record["figures"]["transactions_per_s"]["value"] > 0
    assert [one.name for one in tmp_path.iterdir()] == ["out"]
