"""Defects of other tools, by name: what they did must not happen here. tests/README.md lists all of them."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from assay.untyped import Json

from . import places, program
from .jobs import KIB, MIB, dataset, fixed, job, klass, writes

MEMORY: Json = {"id": "main", "kind": "memory"}


def served(result: Json) -> int:
    """Operations that have a service time: those in the window, and those due in it that ended after its close."""
    overdue: Json = result.get("overdue") or {"completed": 0}
    total: int = result["operations"] + overdue["completed"]
    return total


def moved(outcome: program.Outcome, size: int) -> int:
    """Bytes of the first class, after checking that operations, bytes, series and histogram agree."""
    result = outcome.result()
    assert result["bytes"] == result["operations"] * size
    assert result["reads"] + result["writes"] == result["operations"]
    assert result["service"]["count"] == served(result)
    series = sum(point["operations"] for point in result["intervals"])
    assert series <= result["operations"]
    total: int = result["bytes"]
    return total


@pytest.mark.parametrize("path", ["libaio+direct", "io_uring+direct"])
def test_latency_is_never_zero_under_a_rate_limit_with_direct_io_and_depth_above_one(folder: Path, path: str) -> None:
    outcome = program.run(job(folder, klass(path=path, depth=8, arrivals=fixed(400)), measure_s=1.0))
    result = outcome.result()
    assert result["operations"] > 0
    for name in ("service", "response"):
        latency = result[name]
        assert latency["count"] == served(result)
        assert min(latency["min_ns"], latency["mean_ns"], latency["p50_ns"], latency["max_ns"]) > 0
    assert all(point["mean_ns"] > 0 for point in result["intervals"] if point["operations"])


def test_work_not_done_is_never_exit_0_when_every_operation_fails(tmp_path: Path) -> None:
    # The device breaks in the warm-up, and failures come so slowly that no worker gives up.
    with places.loop(tmp_path / "image", 16 * MIB) as device:
        target = {"id": "main", "kind": "block-device", "members": [str(device.device)]}
        found = [dataset(size=16 * MIB, layout="as-found")]
        run = program.start(job(target, klass(arrivals=fixed(40)), datasets=found, window={"warmup_s": 0.5}))
        try:
            assert run.until("progress")
            os.truncate(device.image, 0)
        finally:
            outcome = run.end()
    assert outcome.code == 1
    assert "every operation failed" in outcome.refusal
    assert "Input/output error" in outcome.refusal


def test_work_not_done_is_never_exit_0_when_the_kernel_takes_no_such_request(folder: Path) -> None:
    # Direct reads of 100 bytes: no block device does that.
    outcome = program.run(job(folder, klass(size=100), measure_s=0.3))
    assert outcome.code in (1, 4)
    assert outcome.refusal


def test_work_not_done_is_never_exit_0_when_no_operation_is_ever_due(folder: Path) -> None:
    # The schedule's first instant passes in the warm-up, its second one lies behind the window.
    reads = klass(arrivals=fixed(0.01))
    outcome = program.run(job(folder, reads, window={"warmup_s": 0.3}))
    assert outcome.code == 1
    assert "reads" in outcome.refusal


def test_work_not_done_is_never_exit_0_when_there_is_no_such_device(tmp_path: Path) -> None:
    target = {"id": "main", "kind": "block-device", "members": [str(tmp_path / "nothing")]}
    outcome = program.run(job(target, datasets=[dataset(layout="as-found")]))
    assert outcome.code == 1
    assert "does not exist" in outcome.refusal


@pytest.mark.parametrize("path", ["pread", "pread+direct", "mmap", "libaio+direct", "io_uring+direct"])
def test_a_workload_does_not_end_at_its_first_page_with_exit_status_0(folder: Path, path: str) -> None:
    # A helper with success and failure swapped stops after one page.
    both = klass(path=path, operation={"kind": "mix", "write_percent": 50}, arrivals=fixed(200), size=8 * KIB)
    outcome = program.run(job(folder, both, measure_s=1.0))
    assert outcome.code == 0
    assert moved(outcome, 8 * KIB) > 8 * KIB
    assert outcome.result()["reads"] > 1 < outcome.result()["writes"]
    assert outcome.record["window"]["stop"] == "limit"


def test_classes_are_measured_over_windows_that_coincide(folder: Path) -> None:
    fast, slow = klass("fast"), klass("slow", path="libaio+direct", depth=4, size=256 * KIB)
    wal = writes("wal", pattern={"kind": "sequential"}, durability={"kind": "fdatasync", "every": 1})
    outcome = program.run(job(folder, fast, slow, wal, measure_s=1.0))
    window = outcome.record["window"]
    skew = window["edge_skew_ns"] / 1e9 / window["measured_s"]
    assert ("windows-differ" in outcome.codes()) == (skew >= 0.02)
    edges = [[point["at_s"] for point in result["intervals"]] for result in outcome.record["classes"]]
    assert edges[0] == edges[1] == edges[2], "one series of instants for all classes"
    assert all(result["operations"] > 0 for result in outcome.record["classes"])


def test_queue_depth_asked_for_and_never_reached_is_said(folder: Path) -> None:
    outcome = program.run(job(folder, klass(path="libaio", depth=64, batch=16)))
    assert outcome.result()["asked_depth"] == 64
    assert outcome.record["verdict"]["status"] != "valid"
    outcome.reason("depth-not-reached")


def test_reads_of_unwritten_extents_are_not_taken_for_the_device(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(32 * MIB)
    target = {"id": "main", "kind": "file", "members": [str(path)]}
    outcome = program.run(job(target, datasets=[dataset(layout="as-found")]))
    assert outcome.record["verdict"]["status"] == "invalid"
    outcome.reason("unwritten-extents")


def test_prepared_data_has_no_unwritten_extents(folder: Path) -> None:
    assert "unwritten-extents" not in program.run(job(folder)).codes()


def test_reads_of_the_page_cache_are_not_taken_for_the_device(folder: Path) -> None:
    reads = klass(path="pread", size=64 * KIB)
    wanted = job(folder, reads, cache="cold", datasets=[dataset(size=2 * MIB)], window={"warmup_s": 0.3})
    outcome = program.run(wanted)
    assert outcome.record["verdict"]["status"] == "invalid"
    outcome.reason("page-cache-served")


@pytest.mark.parametrize(("scope", "factor"), [("total", 1), ("thread", 3)])
@pytest.mark.parametrize("kind", ["fixed", "poisson", "burst"])
def test_a_rate_is_total_or_per_thread_as_said(kind: str, scope: str, factor: int) -> None:
    arrivals: Json = {"kind": kind, "rate_per_s": 3000.0, "scope": scope}
    if kind == "burst":
        arrivals["burst"] = 10
    outcome = program.run(job(MEMORY, klass(path="pmem", threads=3, arrivals=arrivals), measure_s=1.0))
    result = outcome.result()
    asked = 3000.0 * factor
    assert result["asked_rate"]["value"] == asked
    # Never above what was asked; a shortfall of a machine in use is named.
    chance = 5 * asked**0.5 if kind == "poisson" else 30
    done = result["operations"] / outcome.record["window"]["measured_s"]
    assert done <= asked * 1.02 + chance
    assert done >= asked * 0.9 - chance or "rate-not-reached" in outcome.codes()


def test_a_rate_limiter_does_not_spend_a_seconds_budget_at_once() -> None:
    reads = klass(path="pmem", arrivals=fixed(2000))
    result = program.run(job(MEMORY, reads, measure_s=1.0, window={"interval_ms": 50})).result()
    most = max(point["operations"] / point["length_s"] for point in result["intervals"])
    assert most < 2 * 2000


STUDY = """
name = "half"
title = "Half of it works"
question = "Is what is missing said?"
source = "none"

[matrix]
path = ["pread+direct", "nvme_polled"]

[datasets.data]
bytes = "4MiB"

[classes.reads]
dataset = "data"
path = "${path}"
operation = "read"
pattern = "uniform"
size = "4KiB"

[window]
measure = "300ms"
"""


def test_a_total_over_survivors_is_never_unmarked(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "half.toml").write_text(STUDY)
    out = tmp_path / "out"
    done = program.assay("run", "half.toml", "--on", str(folder), "--out", str(out), "--json", cwd=tmp_path)
    document = json.loads(done.stdout)
    assert document["cells"]["finished"] == 1
    assert document["cells"]["refused"] == 1
    missing = document["not_measured"]
    assert len(missing) == 1
    assert missing[0]["reason"]
    assert missing[0]["fix"]
    query = "select count(distinct cell) as n from not_measured where state = 'refused'"
    asked = program.assay("query", query, "--in", str(out), "--json", cwd=tmp_path)
    assert json.loads(asked.stdout) == [{"n": 1}]
    # The report begins its sentences with a capital.
    assert missing[0]["reason"][1:60] in (out / "report.html").read_text()


def test_a_failed_data_check_is_never_exit_0(tmp_path: Path, folder: Path) -> None:
    # A study with a check of its data, whose file somebody changes while it runs.
    study = STUDY.replace('["pread+direct", "nvme_polled"]', '["pread+direct"]').replace("300ms", "2s")
    study = study.replace('bytes = "4MiB"', 'bytes = "4MiB"\ncontent = "stamped"') + "\n[checks]\ndata = true\n"
    (tmp_path / "half.toml").write_text(study)
    words = ["run", "half.toml", "--on", str(folder), "--out", str(tmp_path / "out"), "--no-report", "--json"]
    process = program.start_assay(*words, cwd=tmp_path)
    try:
        while process.poll() is None:
            _flip(folder)
            time.sleep(0.05)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 1, err
    assert json.loads(out)["verdicts"]["invalid"] == 1


def _flip(folder: Path) -> None:
    """Writes into a data set that is ready."""
    for path in folder.glob("*/*.data"):
        if path.stat().st_size == 4 * MIB and b"flipped" not in path.read_bytes():
            with path.open("r+b") as file:
                file.seek(MIB)
                file.write(b"flipped" * 8192)
                os.fsync(file.fileno())
