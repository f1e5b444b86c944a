"""Every operation that was due is accounted for, whatever the target does at the end of the window."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import pytest
from assay.untyped import Json

from . import places, program
from .jobs import fixed, job, klass, writes
from .places import Loop

RATE = 500.0
WINDOW_S = 4.0
MIB = 1 << 20
OBJECTIVE: Json = {"metric": "p99_ns", "bound": 100_000_000.0}


@contextmanager
def frozen(place: Path) -> Iterator[None]:
    """The file system takes no writes; they wait."""
    places.tool("fsfreeze", "--freeze", str(place))
    try:
        yield
    finally:
        places.tool("fsfreeze", "--unfreeze", str(place))


def accounted(result: Json) -> int:
    """Operations of the window, those that ended after it and those that never did."""
    overdue = result.get("overdue") or {"completed": 0, "missing": 0}
    total: int = result["operations"] + overdue["completed"] + overdue["missing"]
    return total


@pytest.mark.parametrize("path", ["pread+direct", "libaio+direct", "io_uring+direct"])
@pytest.mark.parametrize(("from_s", "for_s"), [(1.0, 1.0), (2.0, 2.4)], ids=["in the middle", "over the end"])
def test_a_freeze_is_seen_wherever_it_lies(own_disk: tuple[Loop, Path], path: str, from_s: float, for_s: float) -> None:
    if not shutil.which("fsfreeze"):
        pytest.skip("fsfreeze (util-linux) is not installed")
    place = own_disk[1]
    depth = 1 if path.startswith("pread") else 4
    load = writes(path=path, depth=depth, arrivals=fixed(RATE), objective=OBJECTIVE)
    run = program.start(job(place, load, measure_s=WINDOW_S))
    try:
        assert run.until("interval", at_s=from_s)
        with frozen(place):
            time.sleep(for_s)
    finally:
        outcome = run.end()
    result = outcome.result()
    assert abs(accounted(result) - RATE * WINDOW_S) <= 4, "nothing that was due is missing"
    response = result["response"]
    assert response["count"] == accounted(result)
    assert response["max_ns"] >= 0.9e9 * for_s, "what was frozen waited for the whole of it"
    assert response["p99_ns"] > OBJECTIVE["bound"]
    assert not result["objective"]["met"]


@pytest.mark.parametrize("path", ["pread", "io_uring"])
def test_what_never_ends_is_at_least_as_slow_as_it_waited(folder: Path, path: str) -> None:
    objective: Json = {"metric": "p50_ns", "bound": 1e12}
    load = klass(path=path, depth=1 if path == "pread" else 8, arrivals=fixed(5e7), objective=objective)
    outcome = program.run(job(folder, load))
    result, overdue = outcome.result(), outcome.result()["overdue"]
    assert overdue["missing"] > 0
    assert abs(accounted(result) - 0.5 * 5e7) <= 0.001 * 5e7
    bound = result["response"]["at_least"]
    assert bound["count"] == overdue["missing"]
    assert bound["from_ns"] >= 1e9, "what was due is started for a second after the window"
    assert result["response"]["max_ns"] >= bound["from_ns"]
    assert result["objective"]["seen"] < objective["bound"]
    assert result["objective"]["at_least"]
    assert not result["objective"]["met"], "a lower bound shows no latency to be short enough"
    assert outcome.reason("operations-missing")["numbers"]["missing_operations"] == overdue["missing"]
    assert "rate-not-reached" in outcome.codes()
    assert outcome.record["verdict"]["status"] != "valid"


def transactions(place: Path, out: Path, rate: float, window_s: float) -> list[str]:
    """Words of a run of TPC-C with a rate; it tells its throughput ten times in the window."""
    words = ["dbms", "tpcc", "--small", "--terminals", "1", "--ramp", "200ms", "--duration", f"{window_s}s"]
    return [*words, "--rate", str(rate), "--on", str(place), "--out", str(out)]


def accounted_kinds(record: Json) -> list[Json]:
    """What became of the transactions of each kind, which its response times know of too."""
    seen = []
    for part in record["parts"]:
        overdue = part.get("overdue") or {"completed": 0, "missing": 0}
        window = part["succeeded"] + part["empty"]
        all_of_it = window + overdue["completed"] + overdue["missing"]
        assert abs(part["response"]["count"] - all_of_it) <= 4, part["name"]
        assert part["failed"] == 0
        seen.append({"window": window, **overdue})
    return seen


def test_transactions_wait_for_a_freeze_over_the_end(tmp_path: Path) -> None:
    if not shutil.which("fsfreeze"):
        pytest.skip("fsfreeze (util-linux) is not installed")
    memory = Path("/dev/shm")
    image = (memory if memory.is_dir() else tmp_path) / f"{tmp_path.parent.name}-{tmp_path.name}.img"
    rate, window_s, held_s = 100.0, 3.0, 2.9
    with places.disk(image, tmp_path / "mnt", 512 * MIB) as (_, place):
        run = program.start_assay(*transactions(place, tmp_path / "out", rate, window_s), cwd=tmp_path)
        try:
            told = list(islice(throughputs(run), 2))
            with frozen(place):
                time.sleep(held_s)
            out, err = run.communicate(timeout=60)
        finally:
            run.kill()
            run.wait()
    assert len(told) == 2
    assert run.returncode == 0, out + err
    record = program.record_of(tmp_path / "out")
    kinds = accounted_kinds(record)
    assert sum(kind["completed"] for kind in kinds) > 0
    assert sum(kind["missing"] for kind in kinds) == 0
    assert sum(kind["window"] + kind["completed"] for kind in kinds) >= 0.97 * rate * window_s
    assert max(part["response"]["max_ns"] for part in record["parts"]) >= 0.9e9 * held_s


def throughputs(run: subprocess.Popen[str]) -> Iterator[str]:
    """What a run of TPC-C says while it measures."""
    assert run.stderr is not None
    return (line for line in run.stderr if "transactions/s" in line)


def test_transactions_that_are_never_begun_are_lower_bounds(tmp_path: Path) -> None:
    rate, window_s = 1e6, 0.5
    done = program.assay(*transactions(tmp_path, tmp_path / "out", rate, window_s), cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    record = program.record_of(tmp_path / "out")
    kinds = accounted_kinds(record)
    missing = sum(kind["missing"] for kind in kinds)
    assert missing > 0
    assert sum(sum(kind[name] for name in ("window", "completed", "missing")) for kind in kinds) >= rate * window_s
    for part in record["parts"]:
        bound = part["response"]["at_least"]
        assert bound["from_ns"] >= 1e9, "what was due is begun for a second after the window"
        assert part["response"]["p99_ns"] >= bound["from_ns"]
    reasons = {reason["code"]: reason for reason in record["verdict"]["reasons"]}
    assert reasons["operations-missing"]["numbers"]["missing_operations"] == missing
    assert "rate-not-reached" in reasons
    assert record["verdict"]["status"] != "valid"
    assert "\u2265 " in done.stdout, "a lower bound is printed as one"


STUDY = """
name = "goal"
title = "A goal"
question = "Is it met?"
source = "none"
targets = ["memory"]

[datasets.data]
bytes = "1MiB"

[classes.reads]
dataset = "data"
path = "pmem"
operation = "read"
pattern = "uniform"
size = "4KiB"
objective = { metric = "ops_per_s", bound = "BOUND" }

[window]
measure = "300ms"
"""


@pytest.mark.parametrize(("bound", "code"), [("1/s", 0), ("1000000000000/s", 6)])
def test_a_missed_objective_has_an_exit_code_of_its_own(tmp_path: Path, bound: str, code: int) -> None:
    (tmp_path / "goal.toml").write_text(STUDY.replace("BOUND", bound))
    words = ("run", "goal.toml", "--on", "memory", "--out", str(tmp_path / "out"), "--no-report", "--json")
    done = program.assay(*words, cwd=tmp_path)
    assert done.returncode == code, done.stdout + done.stderr
    document = json.loads(done.stdout)
    assert document["exit_code"] == code
    assert [one["class"] for one in document["missed_objectives"]] == (["reads"] if code else [])
