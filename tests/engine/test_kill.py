"""The engine's process is killed under load: what it acknowledged is there, and nothing in part."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import pytest

from . import ledgers

pytestmark = pytest.mark.usefixtures("assayer")


@pytest.mark.parametrize("durability", ["fdatasync", "plp"])
def test_a_killed_process_is_held_to_its_word(assayer: Path, tmp_path: Path, durability: str) -> None:
    keep = tmp_path / "ledger"
    said = 0
    for turn in range(3):
        said = ledgers.kill_after(
            ledgers.start(assayer, ledgers.job(keep, 60, durability=durability)), keep, 100 * (turn + 1)
        )
    record = ledgers.look(keep, "--durability", durability)
    checks = {check["name"]: check for check in record["checks"]}
    assert all(check["passed"] for check in record["checks"]), record["checks"]
    assert int(checks["acknowledged"]["evidence"].split()[0]) >= said >= 600
    assert record["durability"] == durability
    # What opening it took stands beside what was found.
    recovered = [
        name for name in record["figures"] if name in ("recovery_s", "recovered_commits", "recovered_log_bytes")
    ]
    assert len(recovered) == 3, record["figures"]


def test_one_with_several_logs_is_held_to_its_word_and_finds_their_number_again(assayer: Path, tmp_path: Path) -> None:
    keep, said = tmp_path / "ledger", 0
    for turn in range(3):
        job = ledgers.job(keep, 60, logs=2, log_bytes=8 << 20)
        said = ledgers.kill_after(ledgers.start(assayer, job), keep, 100 * (turn + 1))
    assert {path.name for path in keep.glob("engine-log*")} == {"engine-log", "engine-log-1"}
    assert sum(path.stat().st_size for path in keep.glob("engine-log*")) == 8 << 20
    record = ledgers.look(keep)
    assert all(check["passed"] for check in record["checks"]), record["checks"]
    assert next(int(one["evidence"].split()[0]) for one in record["checks"] if one["name"] == "acknowledged") >= said
    assert record["subject"]["settings"]["logs"] == 2


def test_a_log_and_a_tail_in_places_of_their_own_are_killed_there(assayer: Path, tmp_path: Path) -> None:
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("there is no /dev/shm that could stand in for persistent memory")
    keep, log = tmp_path / "ledger", tmp_path / "log"
    log.mkdir()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as tail:
        seats = {"log_target": str(log), "tail_target": tail}
        started = ledgers.start(assayer, ledgers.job(keep, 60, durability="pmem", **seats))
        said = ledgers.kill_after(started, keep, 400)
        record = ledgers.look(keep, "--durability", "pmem", "--log", str(log), "--pmem", tail, "--log-size", "4MiB")
        assert Path(tail, "engine-tail").exists()
    assert {path.name for path in log.iterdir()} == {"engine-log"}
    assert all(check["passed"] for check in record["checks"]), record["checks"]
    assert next(int(one["evidence"].split()[0]) for one in record["checks"] if one["name"] == "acknowledged") >= said
    places = {target["role"]: (target["target"], target["emulated"]) for target in record["targets"]}
    assert places == {"data": (str(keep), False), "log": (str(log), False), "log-tail": (tail, True)}


def test_one_that_was_killed_while_it_was_loaded_is_made_anew(assayer: Path, tmp_path: Path) -> None:
    keep = tmp_path / "loaded"
    workload = {"kind": "tpcc", "warehouses": 1, "small": False}
    more = {"workload": workload, "pool_bytes": 32 << 20, "log_bytes": 16 << 20}
    process = ledgers.start(assayer, ledgers.job(keep, 60, **more))
    patience = time.monotonic() + 60
    try:
        while not (keep / "engine-data.making").exists():
            assert process.poll() is None, process.communicate()[0]
            assert time.monotonic() < patience, "it makes nothing"
            time.sleep(0.002)
    finally:
        process.kill()
        process.communicate()
    usual = ("--keep", keep, "--on", tmp_path, "--pool", "32MiB", "--log-size", "16MiB", "--warmup", "0")
    done = ledgers.assay_after_kill("tpcc", *usual, "--duration", "0.1", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert not (keep / "engine-data.making").exists()


def test_what_was_not_acknowledged_is_missed(assayer: Path, tmp_path: Path) -> None:
    """The check itself: an acknowledgement that no commit stands behind is found."""
    keep = tmp_path / "ledger"
    ledgers.kill_after(ledgers.start(assayer, ledgers.job(keep, 60)), keep, 20)
    with (keep / "engine-acknowledged").open("r+b") as file:
        file.write((1 << 40).to_bytes(8, "little"))
    usual = ("--keep", keep, "--on", tmp_path, "--pool", "4MiB", "--duration", "0.1", "--json")
    done = ledgers.assay_after_kill("ledger", *usual)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1099511627776 acknowledged" in done.stdout + done.stderr
