"""`assay dbms tpcc` end to end: two warehouses on SQLite and PostgreSQL, all checks, one made to fail."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from assay import home
from assay.dbms.postgres import find
from assay.dbms.tpcc.contrast import durable_writes_per_s, sentences
from assay.dbms.tpcc.order import Order
from assay.error import AssayError
from assay.work import load

QUICK = ["--warehouses", "2", "--terminals", "2", "--duration", "3s", "--ramp", "1s", "--small"]


@pytest.fixture
def target() -> Iterator[Path]:
    try:
        home.binary()
    except home.HomeError as error:
        pytest.skip(str(error))
    with tempfile.TemporaryDirectory(prefix="assay-test-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def assay(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "assay", "dbms", "tpcc", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def nothing_left(target: Path) -> bool:
    return not list(target.glob("assay-dbms-*"))


def needs_postgres() -> None:
    try:
        find()
    except AssayError as error:
        pytest.skip(f"no PostgreSQL here: {error.message}")


def check_record(record: dict[str, Any]) -> None:
    assert {one["name"] for one in record["checks"]} >= {f"consistency-{n}" for n in range(1, 13)} | {"acknowledged"}
    assert all(one["passed"] for one in record["checks"]), record["checks"]
    assert {one["name"] for one in record["parts"]} == {
        "new_order", "payment", "order_status", "delivery", "stock_level",
    }  # fmt: skip
    assert all(one["succeeded"] > 0 and one["failed"] == 0 for one in record["parts"])
    assert record["figures"]["warehouses_touched"]["value"] == 2


def test_sqlite_passes_all_checks(target: Path) -> None:
    done = assay("--on", str(target), "--out", str(target / "out"), "--json", *QUICK)
    assert done.returncode == 0, done.stderr
    check_record(json.loads(done.stdout)[0])
    assert len(load(target / "out")) == 1
    assert nothing_left(target)


def test_postgres_passes_all_checks_with_parts_apart_and_restores_between_runs(target: Path) -> None:
    needs_postgres()
    wal = target / "wal"
    wal.mkdir()
    apart = ["--wal", str(wal), "--index", str(wal), "--repeats", "2", "--warehouse", "uniform", "--buffers", "64MiB"]
    done = assay("--engine", "postgres", "--on", str(target), "--out", str(target / "out"), "--json", *apart, *QUICK)
    assert done.returncode == 0, done.stderr
    records = json.loads(done.stdout)
    assert len(records) == 2
    for record in records:
        check_record(record)
        assert {one["role"] for one in record["targets"]} == {"data", "wal", "index"}
        assert record["figures"]["server_cpu_s"]["value"] > 0
        assert record["figures"]["engine_wal_bytes"]["value"] > 0
        assert record["subject"]["settings"]["fsync"] == "on"
    assert nothing_left(target)
    assert nothing_left(wal)


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_a_failed_condition_fails_the_run(target: Path, engine: str) -> None:
    if engine == "postgres":
        needs_postgres()
    spoilt = ["--spoil", "10", "--engine", engine, "--on", str(target), "--out", str(target / "out")]
    done = assay(*spoilt, "--json", *QUICK)
    assert done.returncode == 1, done.stderr
    record = json.loads(done.stdout)[0]
    assert record["verdict"]["status"] == "invalid"
    assert record["verdict"]["reasons"][0]["code"] == "check-failed"
    assert "consistency-10" in {one["name"] for one in record["checks"] if not one["passed"]}
    assert nothing_left(target)


def test_a_rate_has_response_times(target: Path) -> None:
    done = assay("--on", str(target), "--out", str(target / "out"), "--json", "--rate", "20", *QUICK)
    assert done.returncode == 0, done.stderr
    part = json.loads(done.stdout)[0]["parts"][0]
    assert part["response"]["count"] == part["service"]["count"] > 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--wal", "/tmp"], "SQLite keeps everything beside its file"),
        (["--rate", "5", "--think", "1"], "two paces"),
        (["--mix", "1,2"], "is no mix"),
        (["--mix", "1,2,3,4,5"], "15 together, not 100"),
        (["--warehouses", "900000"], "are needed"),
        (["--connect", "host=/nowhere", "--engine", "postgres"], "did not start"),
    ],
)
def test_bad_orders_are_refused(target: Path, arguments: list[str], words: str) -> None:
    out = ["--on", str(target), "--out", str(target / "out")]
    base = [] if "--warehouses" in arguments else ["--small", "--duration", "1s"]
    done = assay(*out, *base, *arguments)
    assert done.returncode in (2, 4), done.stderr
    assert words in done.stderr
    assert nothing_left(target)


def test_a_server_that_dies_in_mid_run_is_told_and_leaves_nothing(target: Path) -> None:
    needs_postgres()
    arguments = ["--engine", "postgres", "--on", str(target), "--out", str(target / "out"), "--buffers", "32MiB"]
    command = [sys.executable, "-m", "assay", "dbms", "tpcc", *arguments, *QUICK, "--duration", "60s"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        note = wait_for_drive(process, target)
        os.kill(note, signal.SIGKILL)
        _, said = process.communicate(timeout=120)
    assert process.returncode == 1, said
    assert "the server ended in the middle of the run" in said
    assert nothing_left(target)


def wait_for_drive(process: subprocess.Popen[str], target: Path) -> int:
    """The postmaster, once transactions are done."""
    assert process.stderr is not None
    for line in process.stderr:
        if "transactions/s" in line:
            break
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        for note in target.glob("assay-dbms-*/data/postmaster.pid"):
            return int(note.read_text().splitlines()[0])
    raise AssertionError("no server runs")


def test_targets_are_compared_only_with_how_much_of_the_device_was_used(tmp_path: Path) -> None:
    def record(target: str, per_s: float) -> dict[str, Any]:
        figures = {"transactions_per_s": {"value": per_s}, "device_utilisation": {"value": 0.1}}
        return {"targets": [{"role": "data", "target": target}], "figures": figures}

    runs = [record("a", 100 + n) for n in range(3)] + [record("b", 100.5 + n) for n in range(3)]
    said = sentences(runs, {"a": 100.0, "b": 400.0})[0]
    assert "no difference was shown" in said
    assert "this says nothing about devices" in said
    assert "4.00 times" in said or "4 times" in said
    assert "undecided" in sentences([runs[0], runs[3]], {})[0]
    assert durable_writes_per_s(tmp_path) > 0
    assert not list(tmp_path.iterdir())


def test_an_order_becomes_a_job() -> None:
    order = Order(rate=5.0, choice="zipf", zipf=0.8, mix="45,43,4,4,4")
    drive = order.drive()
    assert drive["pace"] == {"kind": "rate", "per_s": 5.0, "poisson": False}
    assert drive["choice"] == {"kind": "zipf", "exponent": 0.8}
    assert sum(drive["mix"].values()) == 100
