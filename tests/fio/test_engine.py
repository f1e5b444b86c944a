"""fio itself on a drive that is not here, beside the simulation of the same drive."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from assay.error import NOT_POSSIBLE
from assay.fio import engine as engines
from assay.target.target import parse
from assay.twin.predict import host_ns
from assay.untyped import Json

SIZE = 8 << 30


def test_lists_of_packages_become_lists_of_sources() -> None:
    assert engines.sources_of("# deb x\ndeb http://a b main\ndeb-src http://a b main\n") == "deb-src http://a b main\n"
    new = "Types: deb deb-src\nURIs: http://a\nSuites: b\n"
    assert engines.sources_of(new) == new.replace("deb deb-src", "deb-src")
    assert engines.sources_of("# nothing\n") == ""


@pytest.fixture(scope="session")
def built() -> engines.FioEngine:
    """The engine; skipped where fio's sources or a tool cannot be had."""
    try:
        return engines.build(print)
    except engines.EngineError as error:
        if error.code != NOT_POSSIBLE:
            raise
        pytest.skip(error.message)


def by_fio(engine: engines.FioEngine, twin: str, depth: int, *more: str) -> Json:
    words = ["fio", "--name=a", f"--ioengine=external:{engine.path}", f"--filename=twin:{twin}", "--rw=randread"]
    words += ["--bs=4k", f"--iodepth={depth}", f"--size={SIZE}", "--norandommap", "--time_based", "--runtime=2"]
    environment = {**os.environ, engines.HOST_NS: str(host_ns(f"twin:{twin}"))}
    words += ["--output-format=json", *more]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found: Json = json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0]
    return found


def by_assay(assayer: Path, twin: str, depth: int) -> tuple[float, float]:
    """Operations per second and median, ns, of the same load by the simulation."""
    reads: Json = {"name": "reads", "dataset": "d", "path": {"kind": "libaio", "direct": True}}
    reads |= {"operation": {"kind": "read"}, "pattern": {"kind": "uniform"}, "size": 4096, "threads": 1}
    job: Json = {"version": 1, "name": "a", "seed": 1}
    job |= {"targets": [parse(f"twin:{twin}").job("t")], "datasets": [{"name": "d", "target": "t", "bytes": SIZE}]}
    job |= {"classes": [reads | {"depth": depth}], "window": {"warmup_s": 1, "measure_s": 10, "interval_ms": 1000}}
    done = subprocess.run(
        [str(assayer), "run", "-"], input=json.dumps(job), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    (record,) = [event for line in done.stdout.splitlines() if (event := json.loads(line))["event"] == "finished"]
    one = record["record"]["classes"][0]
    return one["ops_rate"]["value"], one["service"]["p50_ns"]


@pytest.mark.parametrize(("twin", "depths"), [("gp3", (1, 8, 32)), ("970evoplus", (1, 8))])
def test_fio_sees_what_the_simulation_gives(
    built: engines.FioEngine, assayer: Path, twin: str, depths: tuple[int, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    for depth in depths:
        read = by_fio(built, twin, depth)["read"]
        rate, median = by_assay(assayer, twin, depth)
        rates, medians = (read["iops"] / rate, read["clat_ns"]["percentile"]["50.000000"] / median)
        with capsys.disabled():
            print(f"\n{twin}, depth {depth}: fio over the simulation: rate {rates:.3f}, median {medians:.3f}", end="")
        # A busy machine wakes fio milliseconds late now and then, which the median of most requests does not show.
        assert 0.7 < medians < 1.4, (rates, medians)
        assert rates < 1.3, "no drive answers before its time"


def test_flushes_and_threads_meet_one_drive(built: engines.FioEngine) -> None:
    found = by_fio(built, "970evoplus", 1, "--rw=randwrite", "--fdatasync=1", "--thread", "--numjobs=2", "--runtime=1")
    assert found["sync"]["lat_ns"]["N"] > 0
    assert found["sync"]["lat_ns"]["mean"] > 400_000, "a consumer drive takes most of a millisecond for a flush"


def test_a_host_that_is_no_number_is_refused(built: engines.FioEngine, need: Callable[[str], str]) -> None:
    words = [need("fio"), "--name=a", f"--ioengine=external:{built.path}", "--filename=twin:gp3", "--size=1m"]
    for wrong in ("5us", "", "-5"):
        environment = {**os.environ, engines.HOST_NS: wrong}
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode != 0
        assert "nanoseconds as a whole number" in done.stdout + done.stderr


def test_what_cannot_be_played_is_said(built: engines.FioEngine, need: Callable[[str], str]) -> None:
    for name, said in (("ddr4-2666-32g", "only drives"), ("no-such", "cannot be read")):
        words = [need("fio"), "--name=a", f"--ioengine=external:{built.path}", f"--filename=twin:{name}", "--size=1m"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode != 0
        assert said in done.stdout + done.stderr
