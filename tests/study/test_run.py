"""Whole runs against the stand-in: exit codes, interrupts, kills, full disks, noise."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from assay.cli.measure.devices import check_devices
from assay.error import AssayError
from assay.study.request import Wish, prepare
from assay.target.target import Target

from .conftest import ROOT, Assay


def states(assay: Assay) -> dict[str, str]:
    lines = (assay.results / "journal.ndjson").read_text().splitlines()
    return {entry["cell"]: entry["state"] for entry in map(json.loads, lines)}


def records(assay: Assay) -> dict[str, Any]:
    return {path.stem: json.loads(path.read_text()) for path in (assay.results / "records").glob("*.json")}


def wait_for(condition: Any, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def test_a_run_leaves_the_whole_result_folder_and_nothing_else(assay: Assay) -> None:
    done = assay.run()
    assert done.returncode == 0, done.stderr
    tables = {f"{name}.parquet" for name in ("classes", "intervals", "verdicts", "runs")}
    files = {path.name for path in assay.results.iterdir()}
    assert {"study.json", "plan.json", "journal.ndjson", "records", *tables} <= files
    assert not list(assay.results.rglob("*.tmp"))
    assert not list(assay.target.iterdir())
    assert len(records(assay)) == 4
    assert set(states(assay).values()) == {"finished"}


def test_figures_go_to_standard_error_as_plain_lines(assay: Assay) -> None:
    done = assay.run()
    lines = [line for line in done.stderr.splitlines() if line.startswith("[")]
    assert len(lines) == 4
    assert "left)" in lines[0]
    assert "\x1b" not in done.stdout + done.stderr


def test_repeats_that_agree_are_not_noisy(assay: Assay) -> None:
    assay.run()
    assert {record["verdict"]["status"] for record in records(assay).values()} == {"valid"}


def test_repeats_that_spread_more_than_15_percent_make_every_record_suspect(assay: Assay) -> None:
    assay.behave(**{"threads=1": "noisy"})
    assert assay.run().returncode == 0
    found = {name: record["verdict"] for name, record in records(assay).items()}
    noisy = [name for name, verdict in found.items() if verdict["status"] == "suspect"]
    assert sorted(noisy) == ["small-0001-r1", "small-0001-r2"]
    reason = found["small-0001-r1"]["reasons"][0]
    assert reason["code"] == "noisy-machine"
    assert reason["class"] == "scan"
    assert reason["numbers"]["spread_ratio"] > 0.15


def test_a_refused_cell_is_listed_with_reason_and_fix_and_the_others_go_on(assay: Assay) -> None:
    assay.behave(**{"threads=1": "refuse"})
    done = assay.run()
    assert done.returncode == 0
    assert "not measured: small (2 cells): It cannot be done. Do something else." in done.stdout
    assert len(records(assay)) == 2


def test_when_nothing_is_possible_the_exit_code_says_so(assay: Assay) -> None:
    assay.behave(small="refuse")
    assert assay.run().returncode == 4


def test_what_the_plan_refuses_is_never_started(assay: Assay) -> None:
    assay.behave(**{"threads=1": "refuse-plan"})
    assert assay.run().returncode == 0
    assert all("0002" in cell for cell in assay.runs())


@pytest.mark.parametrize("what", ["fail", "crash", "silent", "errors", "bad-job", "cut"])
def test_a_cell_that_fails_is_never_exit_code_0(assay: Assay, what: str) -> None:
    assay.behave(**{"threads=1": what})
    done = assay.run()
    assert done.returncode == 1, done.stderr
    assert states(assay)["small-0001-r1"] == "failed"
    assert states(assay)["small-0002-r1"] == "finished"


def test_a_failed_data_check_is_never_exit_code_0(assay: Assay) -> None:
    assay.behave(**{"threads=1": "corrupt"})
    assert assay.run().returncode == 1


def test_a_child_that_is_killed_is_a_failed_cell_with_a_sentence(assay: Assay) -> None:
    assay.behave(**{"threads=1": "kill"})
    done = assay.run()
    assert done.returncode == 1
    assert "ended by SIGKILL from outside" in done.stdout


def test_what_a_crashed_child_said_is_passed_on(assay: Assay) -> None:
    assay.behave(**{"threads=1": "crash"})
    assert "something broke" in assay.run().stdout


def test_a_bad_job_is_found_before_anything_runs(assay: Assay) -> None:
    assay.behave(**{"threads=1": "bad-plan"})
    done = assay.run()
    assert done.returncode == 2
    assert "give at least 1" in done.stderr
    assert not assay.results.exists()
    assert not assay.runs()


def test_a_dry_run_touches_nothing(assay: Assay) -> None:
    done = assay.run("--dry-run")
    assert done.returncode == 0
    assert "4 cells in about" in done.stdout
    assert "room needed: 1 MiB" in done.stdout
    assert not assay.results.exists()
    assert not assay.runs()


def test_failed_cells_are_done_again_on_resume_and_finished_ones_are_not(assay: Assay) -> None:
    assay.behave(**{"threads=1": "crash"})
    assay.run()
    before = assay.runs()
    assay.behave()
    done = assay("run", "--resume", str(assay.results), "--no-report")
    assert done.returncode == 0, done.stderr
    assert sorted(assay.runs()[len(before) :]) == ["small-0001-r1", "small-0001-r2"]


def start_slow(assay: Assay) -> subprocess.Popen[str]:
    assay.behave(**{"threads=1": "slow"})
    out = ["--on", str(assay.target), "--out", str(assay.results)]
    process = assay.start("run", str(assay.study()), *out)
    wait_for(lambda: any("0001" in cell for cell in assay.runs()))
    time.sleep(0.3)
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_interrupt_keeps_the_running_cell_and_ends_with_exit_code_3(assay: Assay, number: signal.Signals) -> None:
    process = start_slow(assay)
    process.send_signal(number)
    err = process.communicate(timeout=30)[1]
    assert process.returncode == 3, err
    interrupted = [cell for cell, state in states(assay).items() if state == "interrupted"]
    assert len(interrupted) == 1
    kept = records(assay)[interrupted[0]]
    assert kept["verdict"]["reasons"][0]["code"] == "interrupted"
    assert f"continue: assay run --resume {assay.results}" in err
    assert not list(assay.target.iterdir())


def test_two_interrupts_end_at_once_and_the_run_can_be_continued(assay: Assay) -> None:
    assay.behave(small="hang")
    process = assay.start("run", str(assay.study()), "--on", str(assay.target), "--out", str(assay.results))
    wait_for(assay.runs)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 3
    assert list(states(assay).values()) == ["interrupted"]
    assay.behave()
    assert assay("run", "--resume", str(assay.results), "--no-report").returncode == 0
    assert set(states(assay).values()) == {"finished"}


def test_a_killed_run_is_continued_without_redoing_finished_cells_and_leaves_no_child(assay: Assay) -> None:
    process = start_slow(assay)
    process.kill()
    process.communicate()
    finished = {cell for cell, state in states(assay).items() if state == "finished"}
    before = len(assay.runs())
    left = list(assay.target.iterdir())
    assert left, "a killed run cannot remove its folder"
    owner = json.loads((left[0] / ".assay-scratch.json").read_text())["pid"]
    wait_for(lambda: not Path(f"/proc/{owner}").exists())
    assay.behave()
    done = assay("run", "--resume", str(assay.results), "--no-report")
    assert done.returncode == 0
    assert "a killed run left" in done.stderr
    assert set(assay.runs()[before:]) == {f"small-000{n}-r{r}" for n in (1, 2) for r in (1, 2)} - finished
    assert not list(assay.target.iterdir())


def test_leftovers_of_killed_runs_are_removed_by_clean(assay: Assay) -> None:
    process = start_slow(assay)
    process.kill()
    process.communicate()
    [left] = assay.target.iterdir()
    owner = json.loads((left / ".assay-scratch.json").read_text())["pid"]
    wait_for(lambda: not Path(f"/proc/{owner}").exists())
    done = assay("clean", str(assay.target), "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)[0]["path"] == str(left)
    assert not list(assay.target.iterdir())


@pytest.mark.parametrize(
    ("state", "code", "words"),
    [
        ({"alive": False, "returned": True}, 0, "is back with the kernel"),
        ({"alive": True, "returned": False}, 0, "is in use"),
        ({"alive": False, "returned": False}, 1, "dmesg"),
    ],
)
def test_drives_of_killed_runs_are_given_back_by_clean(
    assay: Assay, monkeypatch: pytest.MonkeyPatch, state: dict[str, bool], code: int, words: str
) -> None:
    drive = {"address": "0000:01:00.0", "serial": "S1", **state}
    monkeypatch.setenv("FAKE_DRIVES", json.dumps([drive]))
    done = assay("clean", str(assay.target))
    assert (done.returncode, done.stdout.count("S1")) == (code, 1)
    assert words in done.stdout
    assert json.loads(assay("clean", str(assay.target), "--json").stdout) == [drive]


def test_a_folder_that_holds_a_run_is_not_overwritten(assay: Assay) -> None:
    assay.run()
    done = assay.run()
    assert done.returncode == 2
    assert "--resume" in done.stderr


def test_a_full_result_disk_is_a_sentence_and_earlier_results_stay(assay: Assay) -> None:
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    assay.results.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=100k", "tmpfs", str(assay.results)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("a tmpfs cannot be mounted here")
    try:
        done = assay.run("--repeats", "20")
        assert done.returncode == 1, done.stderr
        assert "the disk of the results is full" in done.stderr
        assert "earlier results are intact" in done.stderr
        assert "Traceback" not in done.stderr
        kept = records(assay)
        assert kept
        finished = {cell for cell, state in states(assay).items() if state == "finished"}
        assert finished <= set(kept)
    finally:
        subprocess.run(["umount", str(assay.results)], check=True)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (Target("/dev/x", "block-device", ("/dev/x",)), "--serial SERIAL --yes-destroy"),
        (Target("/dev/x", "block-device", ("/dev/x",), (), True), "--serial SERIAL --yes-destroy"),
        (Target("/dev/x", "block-device", ("/dev/x",), ("S1",), False), "--yes-destroy"),
        (Target("/dev/dax0.0", "device-dax", ("/dev/dax0.0",)), "--yes-destroy"),
    ],
)
def test_devices_are_refused_without_serial_and_permission(
    target: Target, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Target, "free_bytes", lambda _: 10**12)
    monkeypatch.setattr(Target, "total_bytes", lambda _: 10**12)
    study = "raw-depth" if target.kind == "block-device" else "raw-path"
    prepared = prepare(Wish(study, (target,), {}), None)
    with pytest.raises(AssayError) as caught:
        check_devices(prepared)
    assert caught.value.code == 2
    assert "destroys" in caught.value.message
    assert said in caught.value.hint


def test_a_device_with_serial_and_permission_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Target, "free_bytes", lambda _: 10**12)
    monkeypatch.setattr(Target, "total_bytes", lambda _: 10**12)
    target = Target("/dev/x", "block-device", ("/dev/x",), ("S1",), True)
    prepared = prepare(Wish("raw-depth", (target,), {}), None)
    check_devices(prepared)
    assert prepared.plan.cells[0].job["targets"][0]["serials"] == ["S1"]


@pytest.mark.parametrize(("term", "live"), [("xterm", True), ("dumb", False)])
def test_live_figures_appear_on_a_terminal_and_plain_lines_elsewhere(assay: Assay, term: str, live: bool) -> None:
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "assay", "run", str(assay.study()), "--on", str(assay.target), "--no-report"]
    environment = os.environ | assay.environment | {"PYTHONPATH": str(ROOT / "python"), "TERM": term, "NO_COLOR": "1"}
    process = subprocess.Popen(command, stderr=theirs, stdout=subprocess.DEVNULL, cwd=assay.folder, env=environment)
    os.close(theirs)
    seen = b""
    with contextlib.suppress(OSError):
        while chunk := os.read(ours, 65536):
            seen += chunk
    os.close(ours)
    assert process.wait(timeout=60) == 0
    assert (b"\x1b[2K" in seen) is live
    assert (b"4/4 cells" in seen) is live
    assert b"\x1b[31m" not in seen, "NO_COLOR asks for no colour"
