"""What cannot be is refused in a clear sentence, and nothing is lost by it."""

from __future__ import annotations

import contextlib
import json
import os
import struct
import tempfile
import time
from pathlib import Path

import pytest
from e2e import places

from . import ledgers

pytestmark = pytest.mark.usefixtures("assayer")
SHORT = ("--warmup", "0", "--duration", "0.1")


def refused(code: int, *arguments: str | Path) -> str:
    done = ledgers.assay(*arguments, *SHORT)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return " ".join((done.stdout + done.stderr).split())


def test_a_place_that_is_not_there(tmp_path: Path) -> None:
    assert "does not exist" in refused(2, "tpcc", "--on", tmp_path / "nowhere")
    assert "it is no device" in refused(2, "tpcc", "--on", tmp_path, "--log", "/dev/no-such-device")
    (tmp_path / "file").touch()
    assert "is no folder" in refused(2, "tpcc", "--on", tmp_path, "--log", tmp_path / "file")
    serial = ("--serial", "S1", "--yes-destroy")
    assert "it is no device" in refused(2, "tpcc", "--on", "/dev/no-such-device", *serial)


def test_a_bare_device_needs_no_place_for_a_log_that_is_not_asked_for() -> None:
    mounted = (line.split()[0] for line in Path("/proc/mounts").read_text().splitlines())
    used = next((one for one in mounted if one.startswith("/dev/") and Path(one).is_block_device()), None)
    if used is None:
        pytest.skip("no block device of this machine is mounted")
    serial = ("--serial", "S1", "--yes-destroy", "--durability", "none")
    done = ledgers.assay("tpcc", "--on", used, *serial, *SHORT)
    # It is the guard that refuses a device in use, or the kernel one that may not be read.
    assert done.returncode in (1, 4), done.stdout + done.stderr
    assert "engine-log" not in done.stdout + done.stderr


def test_a_pool_larger_than_memory(tmp_path: Path) -> None:
    said = refused(2, "tpcc", "--on", tmp_path, "--pool", "900TiB")
    assert "a pool of" in said
    assert "smaller pool" in said
    assert not list(tmp_path.iterdir())


def test_a_placement_without_a_tier_is_not_passed_over(tmp_path: Path) -> None:
    assert "--tier DIR:BYTES" in refused(2, "ycsb", "--on", tmp_path, "--placement", "copy")


def test_a_ledger_that_nobody_keeps(tmp_path: Path) -> None:
    assert "--keep" in refused(2, "ledger", "--on", tmp_path)


def test_two_processes_on_one_database(assayer: Path, tmp_path: Path) -> None:
    keep = tmp_path / "ledger"
    first = ledgers.start(assayer, ledgers.job(keep, 60))
    try:
        patience = time.monotonic() + 60
        while not ledgers.acknowledged(keep) and time.monotonic() < patience:
            time.sleep(0.01)
        assert "in use" in refused(4, "ledger", "--keep", keep, "--on", tmp_path, "--pool", "4MiB")
        assert first.poll() is None, "the first one goes on"
    finally:
        ledgers.kill_after(first, keep, 1)
    assert all(check["passed"] for check in ledgers.look(keep)["checks"])


def test_a_database_of_another_version(tmp_path: Path) -> None:
    keep = tmp_path / "ledger"
    ledgers.look(keep)
    data = keep / "engine-data"
    with data.open("rb") as file:
        before = file.read(128 << 10)
    changed = bytearray(before)
    for at in (0, 64 << 10):
        struct.pack_into("<I", changed, at + 8, 77)
        struct.pack_into("<I", changed, at + 4092, crc32c(bytes(changed[at : at + 4092])))
    overwrite(data, bytes(changed))
    assert "version 77" in refused(4, "ledger", "--keep", keep, "--on", tmp_path, "--pool", "4MiB")
    overwrite(data, before)
    assert all(check["passed"] for check in ledgers.look(keep)["checks"])


def test_a_log_that_is_missing_or_not_its_own(tmp_path: Path) -> None:
    mine, other = tmp_path / "mine", tmp_path / "other"
    ledgers.look(mine)
    ledgers.look(other)
    (mine / "engine-log").rename(tmp_path / "aside")
    assert "has a log, and none was named" in refused(4, "ledger", "--keep", mine, "--on", tmp_path, "--pool", "4MiB")
    (mine / "engine-log").write_bytes((other / "engine-log").read_bytes())
    assert "another database" in refused(4, "ledger", "--keep", mine, "--on", tmp_path, "--pool", "4MiB")
    (tmp_path / "aside").replace(mine / "engine-log")
    assert all(check["passed"] for check in ledgers.look(mine)["checks"])


def test_several_logs_of_which_one_is_missing_swapped_or_not_its_own(tmp_path: Path) -> None:
    mine, other = tmp_path / "mine", tmp_path / "other"
    ledgers.look(mine, "--logs", "2")
    ledgers.look(other, "--logs", "2")
    where = ("--on", tmp_path, "--pool", "4MiB")
    first, second, aside = mine / "engine-log", mine / "engine-log-1", tmp_path / "aside"
    assert "is one of 2, and 3 were asked for" in refused(4, "ledger", "--keep", mine, *where, "--logs", "3")
    second.rename(aside)
    assert "engine-log-1 is missing" in refused(4, "ledger", "--keep", mine, *where)
    second.write_bytes((other / "engine-log-1").read_bytes())
    assert "another database" in refused(4, "ledger", "--keep", mine, *where)
    first.replace(second)
    aside.rename(first)
    assert "is number 2 of 2" in refused(4, "ledger", "--keep", mine, *where)
    first.rename(aside)
    second.rename(first)
    aside.rename(second)
    record = ledgers.look(mine)
    assert all(check["passed"] for check in record["checks"])
    assert record["subject"]["settings"]["logs"] == 2


def test_logs_that_cannot_be_had(tmp_path: Path) -> None:
    work = ("ycsb", "--on", tmp_path, "--rows", "1000", "--pool", "4MiB", "--logs", "2")
    assert "durability none has no log" in refused(2, *work, "--durability", "none")
    assert "at least 1 MiB for each" in refused(2, *work, "--log-size", "1536KiB")
    twin = ("ycsb", "--on", "twin:970evoplus", "--rows", "1000", "--pool", "4MiB", "--logs", "2")
    assert "a twin plays no more" in refused(2, *twin)
    assert not list(tmp_path.iterdir())


def test_a_log_a_tail_or_a_stripe_of_another_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("there is no /dev/shm that could stand in for persistent memory")
    mine, other, none = tmp_path / "mine", tmp_path / "other", tmp_path / "none"
    log, stripe = tmp_path / "log", tmp_path / "stripe"
    log.mkdir()
    stripe.mkdir()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as tail:
        usual = ("--on", f"{tmp_path}+{stripe}", "--log", str(log), "--pmem", tail, "--durability", "pmem")
        ledgers.look(mine, *usual)
        ledgers.look(other)
        for named in (("--log", log), ("--pmem", tail), ("--on", f"{tmp_path}+{stripe}")):
            where = ("--pool", "4MiB", *named, *(("--on", tmp_path) if named[0] != "--on" else ()))
            # Twice: what the first refusal leaves must not have the second one clean up.
            for _ in range(2):
                assert "belongs to another database" in refused(4, "ledger", "--keep", none, *where)
                assert not list(none.iterdir())
            said = refused(4, "ledger", "--keep", other, *where)
            assert "nother" in said or "no part of a striped disk" in said
        assert all(check["passed"] for check in ledgers.look(mine, *usual)["checks"])
        assert all(check["passed"] for check in ledgers.look(other)["checks"])


def test_a_database_of_other_work(tmp_path: Path) -> None:
    keep = tmp_path / "ledger"
    ledgers.look(keep)
    assert "made for other work" in refused(4, "ycsb", "--keep", keep, "--on", tmp_path, "--pool", "4MiB")
    assert all(check["passed"] for check in ledgers.look(keep)["checks"])


def test_a_disk_that_is_full_in_mid_transaction(assayer: Path, tmp_path: Path) -> None:
    with places.disk(tmp_path / "image", tmp_path / "mnt", 48 << 20) as (_, at):
        ballast = at / "ballast"
        ballast.write_bytes(os.urandom(16 << 20))
        keep = at / "ledger"
        run = ledgers.start(assayer, ledgers.job(keep, 120))
        said, _ = run.communicate(timeout=200)
        assert run.returncode == 1, said
        assert "No space left" in said or "is full" in said, said
        acknowledged = ledgers.acknowledged(keep)
        ballast.unlink()
        record = ledgers.look(keep)
        assert all(check["passed"] for check in record["checks"]), record["checks"]
        assert acknowledged > 0


@pytest.mark.parametrize(
    "work",
    [("tpcc", "--small", "--warehouses", "1"), ("ycsb", "--rows", "60000", "--reads", "0")],
    ids=["tpcc", "ycsb"],
)
def test_pages_that_fill_their_file_system_stop_the_run_and_lose_nothing(tmp_path: Path, work: tuple[str, ...]) -> None:
    with places.disk(tmp_path / "image", tmp_path / "mnt", 64 << 20) as (_, at):
        keep = at / "kept"
        seats = ("--on", str(at), "--keep", str(keep), "--log", str(tmp_path))
        usual = (*seats, "--log-size", "8MiB", "--pool", "4MiB", "--threads", "2")
        ran = (*work, *usual, "--warmup", "0", "--json", "--duration")
        made = ledgers.assay(*ran, "0.1")
        assert made.returncode == 0, made.stdout + made.stderr
        ballast = fill(at, leaving=256 << 10)
        done = ledgers.assay(*ran, "120")
        assert done.returncode == 1, done.stdout + done.stderr
        said = " ".join((done.stdout + done.stderr).split())
        assert "engine-data failed: No space left on device" in said, said
        assert f"free space where {keep}/engine-data lies, then open" in said, said
        assert "Traceback" not in said
        # Without room it is opened and refused again, or does with what a recovery gives back: never damaged.
        ledgers.assay_after_kill(*ran, "0.1")
        ballast.unlink()
        again = ledgers.assay_after_kill(*ran, "0.1")
        assert again.returncode == 0, again.stdout + again.stderr
        checks = json.loads(again.stdout)["record"]["checks"]
        assert all(check["passed"] for check in checks), checks
        assert len([check for check in checks if check["name"].startswith("consistency-")]) == 12 or work[0] == "ycsb"


def test_a_log_takes_its_room_when_it_is_made_and_needs_none_later(tmp_path: Path) -> None:
    with places.disk(tmp_path / "image", tmp_path / "mnt", 64 << 20) as (_, at):
        keep = tmp_path / "kept"
        work = ("tpcc", "--small", "--on", tmp_path, "--keep", keep, "--log", at, "--pool", "4MiB", "--log-size")
        said = refused(1, *work, "96MiB")
        assert "is not touched: 96.0 MiB are needed" in said
        assert "at least 5 % must stay free" in said
        assert not keep.exists()
        assert not list(at.iterdir())
        assert ledgers.assay(*work, "8MiB", *SHORT).returncode == 0
        fill(at, leaving=0)
        done = ledgers.assay(*work, "8MiB", "--warmup", "0", "--duration", "3")
        assert done.returncode == 0, done.stdout + done.stderr


def test_a_full_disk_under_a_database_that_nobody_keeps(tmp_path: Path) -> None:
    with places.disk(tmp_path / "image", tmp_path / "mnt", 32 << 20) as (_, at):
        said = refused(1, "tpcc", "--on", at, "--log", tmp_path, "--log-size", "8MiB", "--pool", "4MiB")
        assert "is not touched: 110.0 MiB are needed" in said
        assert "at least 5 % must stay free" in said
        assert not list(at.iterdir())
        assert {path.name for path in tmp_path.iterdir()} == {"image", "mnt"}


def fill(at: Path, leaving: int) -> Path:
    """Takes all room of a file system but so many bytes; the file that has it."""
    ballast, step, taken = at / "ballast", 64 << 10, 0
    with ballast.open("wb") as file, contextlib.suppress(OSError):
        while True:
            os.posix_fallocate(file.fileno(), taken, step)
            taken += step
    os.truncate(ballast, max(0, taken - leaving))
    return ballast


def crc32c(data: bytes) -> int:
    """CRC-32C, bit by bit."""
    state = 0xFFFFFFFF
    for byte in data:
        state ^= byte
        for _ in range(8):
            state = state >> 1 ^ (0x82F63B78 if state & 1 else 0)
    return state ^ 0xFFFFFFFF


def overwrite(path: Path, begin: bytes) -> None:
    with path.open("r+b") as file:
        file.write(begin)
