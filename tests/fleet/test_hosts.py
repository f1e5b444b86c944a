"""What comes from other hosts: a slow way with a clock far ahead, storage that all share, a scheduler that is gone."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from assay.fleet import keys

from . import cable, volume
from .hosts import fleet, shifted
from .processes import HERE, can_shift_clocks, command, started, states, until

pytest.importorskip("distributed")
pytestmark = pytest.mark.usefixtures("assayer")

AHEAD_S = 1000
ROUND_TRIP_S = 0.05
CAP_BYTES_PER_S = 16 << 20


def test_a_host_that_is_far_away_with_a_clock_far_ahead_is_named_and_the_overlap_is_said(tmp_path: Path) -> None:
    if reason := can_shift_clocks() or cable.why_not():
        pytest.skip(f"no such host can be made here: {reason}")
    hosts = {"a": [], "b": shifted(AHEAD_S)}
    with fleet(tmp_path / "keys", hosts) as made, cable.slow(os.getpid(), made.workers["b"], 2, ROUND_TRIP_S):
        words = ("--scheduler", made.address, "--keys", made.keys, "--lead", "3", "--out", tmp_path / "out")
        done = subprocess.run(command("run", HERE / "rate.toml", *words), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    document = json.loads((tmp_path / "out" / "fleet.json").read_text())
    clock = document["clocks"]["b"]
    assert clock["error_ns"] >= ROUND_TRIP_S / 2 * 1e9
    assert abs(clock["ahead_ns"] - AHEAD_S * 10**9) <= clock["error_ns"]
    assert "windows coincide to " in done.stdout
    assert "b's window is known to within " in done.stdout
    assert "a's window is known to within " not in done.stdout


def test_what_hosts_read_of_a_throttled_device_together_is_its_cap_and_not_eight_times_that(tmp_path: Path) -> None:
    if reason := volume.why_not():
        pytest.skip(f"no device can be throttled here: {reason}")
    with volume.mounted(tmp_path / "shared", 64 << 20) as device, volume.group(device, CAP_BYTES_PER_S) as before:
        for number in range(1, 9):
            (tmp_path / "shared" / f"h{number}").mkdir()
        words = ("--local", "8", "--lead", "5", "--on", tmp_path / "shared" / "{host}", "--out", tmp_path / "out")
        done = subprocess.run(
            [*before, *command("run", HERE / "reads.toml", *words, "--json")],
            capture_output=True,
            text=True,
            check=False,
        )
    document = json.loads(done.stdout)
    (total,) = document["totals"]
    assert done.returncode == 0, document
    # Of all that measured: one that a busy machine lets begin late is in no sum, and took its part of the device.
    together = sum(one["bytes_per_s"] for host in total["hosts"] for one in host["classes"])
    assert len(total["hosts"]) == 8
    assert together == pytest.approx(CAP_BYTES_PER_S, rel=0.02)
    assert sum(one["bytes_per_s"] for one in total["classes"]) <= CAP_BYTES_PER_S * 1.02


@contextlib.contextmanager
def _served(place: Path) -> Iterator[tuple[subprocess.Popen[str], str, list[subprocess.Popen[str]]]]:
    """A scheduler and two workers on the loopback."""
    with contextlib.ExitStack() as running:
        listen = ("scheduler", "--listen", "tls://127.0.0.1:0", "--keys", place)
        scheduler, address = running.enter_context(started(*listen))
        words = [("worker", address, "--name", host, "--listen", "127.0.0.1", "--keys", place) for host in ("a", "b")]
        workers = [running.enter_context(started(*one))[0] for one in words]
        yield scheduler, address, workers


def test_when_the_scheduler_is_killed_runs_end_and_their_records_are_gathered_by_resume(tmp_path: Path) -> None:
    out, place = tmp_path / "out", tmp_path / "keys"
    for host in ("a", "b"):
        (tmp_path / host).mkdir()
    keys.make(place, ["a", "b"], 2)
    with _served(place) as (scheduler, address, workers):
        where = ("--scheduler", address, "--keys", place, "--lead", "2", "--json")
        words = command("run", HERE / "writes.toml", *where, "--on", tmp_path / "{host}", "--out", out)
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        until(lambda: states(out / "hosts" / "b" / "journal.ndjson") or process.poll() is not None)
        moment = time.monotonic() + 2.4
        until(lambda: time.monotonic() >= moment)
        scheduler.send_signal(signal.SIGKILL)
        printed, said = process.communicate()
        assert process.returncode == 3, printed + said
        for worker in workers:
            worker.wait(60)
    assert [one["host"] for one in json.loads(printed)["lost"]] == ["a", "b"]
    with _served(place) as (_, address, _):
        where = ("--scheduler", address, "--keys", place, "--lead", "2", "--json")
        done = subprocess.run(command("run", "--resume", out, *where), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 records were on their hosts already" in done.stderr
    journal = states(out / "hosts" / "a" / "journal.ndjson")
    assert journal.count(("fleet-writes-0001-r1", "started")) == 1, "a finished cell was run again"
    assert not [path for host in ("a", "b") for path in (tmp_path / host).iterdir()]
