"""The arithmetic of comparisons, and how programs are run. No figure of a machine is judged."""

import json
import math
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from assay.bench import agreement, ceiling, pairs, process
from assay.bench.engines import Cost, EngineWork, cost
from assay.bench.engines import EnginePair as EnginePoint
from assay.bench.show import show
from assay.bench.stores import StorePair as StorePoint
from assay.error import AssayError
from commands import assay
from hypothesis import given
from hypothesis import strategies as st


def test_who_goes_first_alternates() -> None:
    order: list[str] = []

    def program(name: str) -> str:
        order.append(name)
        return name

    results = list(pairs.in_turn(3, lambda: program("a"), lambda: program("f")))
    assert results == [("a", "f")] * 3
    assert "".join(order) == "affaaf"


def test_ratio_of_pairs() -> None:
    found = pairs.ratio([2.0, 4.0, 9.0], [1.0, 2.0, 3.0])
    assert found.median == 2.0
    assert found.low < (2 * 2 * 3) ** (1 / 3) < found.high
    same = pairs.ratio([3.0, 6.0], [1.0, 2.0])
    assert same.low == pytest.approx(same.high) == pytest.approx(3.0)
    assert pairs.ratio([3.0], [1.0]).high == math.inf
    assert json.loads(json.dumps(pairs.compared([3.0], [1.0], "x")))["ratio_low"] is None


def test_interval_is_students() -> None:
    # t(0.975, 3 degrees of freedom) = 3.1824; standard deviation of 1..4 is 1.2910.
    assert pairs.half_width([1, 2, 3, 4]) == pytest.approx(3.1824 * 1.2910 / 2, rel=1e-4)
    assert pairs.spread([1, 2, 4]) == 1.5


@given(st.floats(100, 1e5), st.integers(10**3, 10**6), st.floats(0, 5))
def test_what_start_costs_does_not_count(cycles_per_op: float, operations: int, start_s: float) -> None:
    hz = 2e9
    short = EngineWork(operations, 0.5, start_s + operations * cycles_per_op / hz, None)
    long = EngineWork(operations * 5, 2.5, start_s + operations * 5 * cycles_per_op / hz, None)
    found = cost(short, long, hz)
    assert found.cycles_per_op == pytest.approx(cycles_per_op, rel=1e-6)
    assert found.ops_per_s == pytest.approx(operations * 2)


def test_counters_go_before_cpu_time() -> None:
    assert cost(EngineWork(10, 1, 0, 100), EngineWork(20, 1, 9, 400), 1e9) == Cost(30, 20)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder before PATH; perf is there and cannot count."""
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    process.counters_work.cache_clear()
    program(tmp_path, "perf", "exit 1")
    return tmp_path


def program(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)
    return folder / name


def test_cpu_of_a_program_is_its_own(programs: Path) -> None:
    loop = "import time\nend = time.process_time() + 0.2\nwhile time.process_time() < end: pass\nprint('done')"
    busy = process.run([sys.executable, "-c", loop])
    assert busy.text == "done\n"
    assert busy.cpu_s >= 0.2
    assert busy.cycles is None
    idle = process.run([sys.executable, "-c", "print(input())"], given="told")
    assert idle.text == "told\n"
    assert idle.cpu_s < busy.cpu_s


def test_cycles_come_from_perf_where_it_counts(programs: Path) -> None:
    text = 'while [ "$1" != -- ]; do [ "$1" = -o ] && out=$2; shift; done; shift; "$@"; code=$?\n'
    program(programs, "perf", text + "echo 1234,,cycles,1,100.00,, >$out; exit $code")
    process.counters_work.cache_clear()
    assert process.run(["echo", "x"]).cycles == 1234
    program(programs, "perf", text + "echo '<not supported>,,cycles,0,0.00,,' >$out; exit $code")
    process.counters_work.cache_clear()
    assert process.run(["echo", "x"]).cycles is None


def test_perf_is_not_used_where_counters_slow_what_they_count(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(programs, "perf", "exit 1")
    monkeypatch.setenv("ASSAYER", str(program(programs, "assayer", 'echo \'{"cost": null, "bends": true}\'')))
    process.counters_work.cache_clear()
    assert not process.counters_work()


def test_a_program_that_fails_is_named(programs: Path) -> None:
    failing = program(programs, "failing", "echo it broke >&2; exit 3")
    with pytest.raises(AssayError, match="failing ended with exit code 3: it broke"):
        process.run([str(failing)])


def test_fio_that_is_absent_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AssayError) as caught:
        process.fio_program()
    assert caught.value.code == 4


def test_null_bench_gives_what_it_promises(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = '{"jobs": [{"read": {"iops": 100.0}, "error": 0}]}'
    program(programs, "fio", f"[ $1 = --version ] && echo fio-9 && exit; echo 'fio: a warning'; echo '{report}'")
    monkeypatch.setenv("ASSAYER", str(program(programs, "assayer", "echo '{\"ops_per_s\": 400.0}'")))
    found = ceiling.measure(2, 0.01)
    assert (found["ops_per_s"], found["fio_ops_per_s"], found["ratio"], found["fio_version"]) == (400, 100, 4, "fio-9")


@pytest.mark.parametrize("as_json", [True, False])
def test_results_are_shown(as_json: bool, capsys: pytest.CaptureFixture[str]) -> None:
    figure = pairs.compared([2e6, 2.2e6], [1e6, 1e6], "ops/s")
    cycles = pairs.compared([500.0, 510.0], [1000.0, 990.0], "cycles/op")
    point = {"engine": "psync", "depth": 1, "cache": "hot", "cycles_per_op": cycles, "throughput": figure}
    result = {"points": [point], "method": "counters", "fio_version": "fio-9"}
    show("fio", result, as_json)
    shown = capsys.readouterr().out
    if as_json:
        assert json.loads(shown) == result
    else:
        assert "psync depth 1, hot" in shown
        assert "2.10" in shown
        assert "by counters" in shown


def test_both_do_the_same() -> None:
    point = EnginePoint("libaio", "libaio", 32, True)
    assert point.assay()["depth"] == point.fio("f", 1)["iodepth"] == 32
    assert point.assay()["path"]["direct"] == bool(point.fio("f", 1)["direct"])
    store = StorePoint(write=True, random=True, size=64)
    assert (store.fio("f", 1)["rw"], store.assay()["durability"]["kind"]) == ("randwrite", "persist")


def test_agreement_is_of_the_same_loads() -> None:
    found = agreement.cells()
    assert {cell.threads * cell.depth for cell in found} == {1, 8, 32, 128}
    assert {(cell.operation, cell.durable) for cell in found} == {("read", False), ("write", False), ("write", True)}
    for cell in found:
        ours, theirs = cell.assay(), cell.fio("a:b", 1.0)
        assert (ours["threads"], ours["depth"]) == (theirs["numjobs"], theirs["iodepth"])
        assert ("durability" in ours) == ("fdatasync" in theirs) == cell.durable
        assert ours["path"]["direct"]
        assert theirs["direct"] == 1
        assert theirs["filename"] == "a\\:b"
    assert len({cell.name for cell in found}) == len(found)


def test_what_differs_is_said_and_chance_is_not() -> None:
    cell = agreement.cells()[0]

    def figures(rate: float, p99: float) -> agreement.Figures:
        cost = {"cpu_share": rate / 1004, "cpu_ns": 5000.0}
        return {"ops_per_s": rate, "mean_ns": 1e6, "p50_ns": 90.0, "p99_ns": p99} | cost

    pairs_of = [(figures(1000 + one, 200), figures(1000 - one, 100 + one)) for one in range(5)]
    point = agreement.judged(cell, pairs_of)
    assert point["differs"] == ["p99_ns"]
    found = agreement.summary([point])
    assert found["ops_per_s"]["close"]
    assert not found["p99_ns"]["close"]
    assert found["p99_ns"]["worst_cell"] == cell.name
    result = {"points": [point], "summary": found, "fio_version": "fio-9", "repeats": 5, "seconds": 1.0, "seed": 1}
    said = agreement.words(result)
    assert f"more than chance: {cell.name}: p99_ns" in said
    assert (
        "Assay had 1 in flight and its threads on a CPU for 100% of the time, 5 us an operation; fio had 0.998" in said
    )
    assert "the CPU set the pace of Assay and fio" in said


def test_cpu_time_of_both_is_of_an_operation_and_of_a_thread() -> None:
    cell = agreement.cells()[-1]
    job = {"usr_cpu": 10.0, "sys_cpu": 40.0, "write": {"iops": 1000.0}}
    assert agreement.cost_of_fio(cell, job) == {"cpu_share": 0.5, "cpu_ns": 0.5 * cell.threads / 1000.0 * 1e9}
    cpu = {"user_s": {"value": 0.5}, "kernel_s": {"value": 1.5}}
    record: Any = {"window": {"measured_s": 2.0}, "classes": [{"cpu": cpu, "ops_rate": {"value": 1000.0}}]}
    found = agreement.cost_of_assay(cell, record)
    assert found["cpu_share"] == pytest.approx(1 / cell.threads)
    assert found["cpu_ns"] == pytest.approx(1e6)


def test_a_durable_write_is_its_write_and_its_sync() -> None:
    cell = next(cell for cell in agreement.cells() if cell.durable)
    spread = {"percentile": {"50.000000": 50.0, "99.000000": 99.0}}
    job = {"write": {"iops": 10.0, "lat_ns": {"mean": 5.0} | spread}, "sync": {"lat_ns": {"mean": 7.0} | spread}}
    assert agreement.by_fio(cell, job) == {"ops_per_s": 10.0, "mean_ns": 12.0, "p50_ns": 50.0, "p99_ns": 99.0}
    flush = {"p50_ns": 40, "p99_ns": 80}
    record: Any = {"classes": [{"ops_rate": {"value": 9.0}, "service": {"mean_ns": 11.0}, "flush": flush}]}
    assert agreement.by_assay(cell, record) == {"ops_per_s": 9.0, "mean_ns": 11.0, "p50_ns": 40, "p99_ns": 80}


@pytest.mark.parametrize("arguments", [["--on", "/nowhere-at-all"], ["--pairs", "1"], ["--seconds", "0"]])
def test_nonsense_for_agreement_is_refused(arguments: list[str]) -> None:
    assert assay("bench", "fio", "--agree", *arguments).returncode == 2
