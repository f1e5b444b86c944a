"""Predictions: arithmetic of a demand on a device, records in and out, a limit of the kernel's beside the forecast."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from assay.binary import Binary
from assay.dbms.predict import device, forecast, report
from assay.dbms.predict.demand import Demand, demands, usable
from assay.dbms.predict.device import Busy
from assay.error import AssayError
from hypothesis import given
from hypothesis import strategies as st

seconds = st.floats(0.001, 1000)


def demand(wall: float = 2.0, wait: float = 1.0, busy: float | None = 1.0, **more: Any) -> Demand:
    return Demand("q01", wall, wait, busy, 100e6, 131072.0, True, 1.0, **more)


@given(
    wall=seconds,
    share=st.floats(0, 1),
    busy=st.one_of(st.none(), seconds),
    there=seconds,
    width=st.floats(0, 1),
    streams=st.integers(1, 64),
)
def test_a_forecast_lies_in_its_band_and_is_never_shorter_than_the_device_is_busy(
    wall: float, share: float, busy: float | None, there: float, width: float, streams: int
) -> None:
    found = forecast.of(demand(wall, wall * share, busy, streams=streams), Busy(there, width))
    assert found.low_s <= found.seconds <= found.high_s
    assert found.seconds >= there * (1 - 1e-9)


@given(wall=seconds, share=st.floats(0, 1), streams=st.integers(1, 64))
def test_on_the_same_device_the_forecast_is_what_was_measured(wall: float, share: float, streams: int) -> None:
    busy = wall * share
    found = forecast.of(demand(wall, busy, busy or 1e-9, streams=streams), Busy(busy, 0.1))
    assert found.seconds == pytest.approx(wall, rel=1e-6)


def test_one_stream_adds_and_many_take_the_longer_of_work_and_device() -> None:
    assert forecast.network_s(1, 3.0, 2.0) == pytest.approx(5)
    assert forecast.network_s(1000, 3.0, 2.0) == pytest.approx(3, rel=0.01)
    assert forecast.network_s(1000, 2.0, 3.0) == pytest.approx(3, rel=0.01)
    # Two streams: r(1) = 1, x(1) = 1 / 3, q(1) = 1 / 3, r(2) = 4 / 3, x(2) = 2 / (2 + 4 / 3).
    assert forecast.network_s(2, 1.0, 1.0) == pytest.approx((2 + 1 + 1 / 3) / 2)
    assert forecast.network_s(5, 1.0, 0.0) == 1


def test_a_slower_device_takes_longer_and_in_the_end_sets_the_pace() -> None:
    one = demand(wall=2, wait=0.5, busy=1, streams=4)
    times = [forecast.of(one, Busy(there, 0.0)).seconds for there in (0.1, 1, 10, 1000)]
    assert times == sorted(times)
    assert times[1] == pytest.approx(2)
    assert times[3] == pytest.approx(1000, rel=0.01)


def test_time_in_a_queue_for_a_cpu_widens_the_band() -> None:
    plain, queued = (forecast.of(demand(2, 1, 1, queued_s=time), Busy(1.0, 0.1)) for time in (0.0, 0.5))
    assert plain.seconds == queued.seconds
    assert queued.low_s < plain.low_s
    assert queued.high_s > plain.high_s


def test_a_rate_that_was_asked_for_is_not_exceeded_on_a_faster_device() -> None:
    found = forecast.of(demand(10, 5, 5, operations=1000.0, paced=True), Busy(0.1, 0.1))
    assert found.seconds == 10


def test_a_limit_is_a_device_too() -> None:
    assert device.busy("limit:50MB/s", demand()).seconds == pytest.approx(2)
    assert device.busy("limit:1000/s", demand()).seconds == pytest.approx(100e6 / 131072 / 1000)
    with pytest.raises(AssayError, match="no twin"):
        device.busy("p4610", demand())


@pytest.mark.usefixtures("assayer")
def test_twins_are_asked_with_the_demands_own_sizes() -> None:
    reads = device.busy("twin:p4610", demand())
    assert 100e6 / 4e9 < reads.seconds < 100e6 / 0.1e9
    more = {"written_bytes": 8.0e6, "write_size_bytes": 8192.0}
    unsynced = device.busy("twin:p4610", demand(**more, flushes=0.0))
    synced = device.busy("twin:p4610", demand(**more, flushes=1000.0))
    assert reads.seconds < unsynced.seconds < synced.seconds


def query_record(name: str = "q01", **figures: float) -> Any:
    values = {"time_s": 1.0, "wait_ratio": 0.5, "device_read_bytes": 50e6, **figures}
    part = {"name": name, "figures": {key: {"value": value} for key, value in values.items()}, "facts": {}}
    return {
        "kind": "database",
        "run": {"id": "one"},
        "subject": {"name": "duckdb", "version": "2", "settings": {}},
        "workload": {"name": "tpch", "parameters": {"protocol": "cold"}},
        "targets": [{"role": "data", "target": "here"}],
        "durability": "none",
        "parts": [part],
        "verdict": {"reasons": []},
    }


def window_record() -> Any:
    names = {"read_bytes": 80e6, "written_bytes": 40e6, "reads": 1e4, "writes": 5e3, "flushes": 2e3}
    values = {**names, "mean_in_flight": 0.5, "utilisation": 0.5}
    record = query_record()
    return record | {
        "workload": {"name": "tpcc", "parameters": {}},
        "measured_s": 10.0,
        "environment": {"cpu": {"usable": 2}},
        "figures": {"transactions_per_s": {"value": 100.0}, "cpu_s": {"value": 12.0}},
        "devices": [{"device": "x", **{name: {"value": value} for name, value in values.items()}}],
    }


def test_windows_of_transactions_are_demands() -> None:
    (found,) = demands(window_record())
    assert (found.wait_s, found.busy_s, found.concurrency) == (4.0, 5.0, 1.0)
    assert (found.read_size_bytes, found.write_size_bytes, found.operations) == (8000.0, 8000.0, 1000.0)
    assert demands(window_record() | {"devices": []}) == []


def test_a_window_beside_others_keeps_its_own_part_and_knows_no_busy_time() -> None:
    record = window_record()
    record["figures"] |= {"process_read_bytes": {"value": 20e6}, "process_written_bytes": {"value": 10e6}}
    (found,) = demands(record)
    assert found.busy_s is None
    assert (found.read_bytes, found.written_bytes, found.flushes) == (20e6, 10e6, 500)
    record["figures"] |= {"process_read_bytes": {"value": 60e6}}
    (found,) = demands(record)
    assert (found.busy_s, found.read_bytes) == (5.0, 80e6)


def test_all_of_the_waiting_may_have_been_the_devices() -> None:
    found = forecast.of(demand(wall=2, wait=1.8, busy=0.2), Busy(0.001, 0.1))
    assert found.low_s == pytest.approx(0.2)
    assert found.high_s >= 1.8


def test_windows_are_compared_by_the_time_of_as_many_operations() -> None:
    (found,) = [forecast.of(one, Busy(5.0, 0.1)) for one in demands(window_record())]
    there = window_record()
    there["figures"]["transactions_per_s"] = {"value": 50.0}
    (hit,) = report.hits([found], there)
    assert hit.seen_s == pytest.approx(20)


def test_a_query_waits_no_longer_than_its_cpu_time_leaves() -> None:
    (found,) = demands(query_record(wait_ratio=1.0, cpu_utilisation_ratio=0.4))
    assert found.wait_s == pytest.approx(0.6)


def test_hot_and_modelled_records_are_no_source() -> None:
    hot = query_record()
    hot["workload"] = {"name": "tpch", "parameters": {"protocol": "hot"}}
    modelled: Any = query_record() | {"verdict": {"reasons": [{"code": "modelled-target"}]}}
    memory: Any = query_record() | {"targets": [{"role": "data", "target": "/dev/shm", "emulated": True}]}
    assert usable([query_record(), hot, modelled, memory]) == [query_record()]


@pytest.mark.usefixtures("assayer")
def test_a_forecast_is_a_record_that_says_it_is_modelled(root: Path) -> None:
    import jsonschema  # type: ignore[import-untyped]

    for source in (query_record(device_busy_s=0.5), window_record()):
        found = report.forecasts(source, "twin:p4610")
        document: Any = report.record(Binary.find(), source, "twin:p4610", found)
        jsonschema.validate(document, json.loads((root / "schema" / "work.schema.json").read_text()))
        assert document["verdict"]["reasons"][0]["code"] == "modelled-target"
        assert document["parts"][0]["figures"]["time_s"]["provenance"] == "modelled"
        assert document["parts"][0]["figures"]["time_s"]["band"]["low"] > 0
    assert document["figures"]["ops_per_s"]["band"]["low"] < document["figures"]["ops_per_s"]["value"]


def test_errors_are_summed_up() -> None:
    one = forecast.of(demand(), Busy(1.0, 0.1))
    found = forecast.summary(forecast.against([one], {"q01": 2.0, "q02": 1.0}))
    assert found["queries"] == 1
    assert found["median_error_ratio"] == 0
    assert found["inside_ratio"] == 1
    assert forecast.summary([]) == {}


@pytest.fixture
def throttle(tmp_path: Path) -> Iterator[Path]:
    """A control group whose reads of the disk under the tests are limited to 20 MB/s."""
    number = tmp_path.stat().st_dev
    place = Path("/sys/dev/block") / f"{os.major(number)}:{os.minor(number)}"
    if os.geteuid() != 0 or not place.exists():
        pytest.skip("limits of a disk take root, and a disk under the folder for tests")
    whole = place.resolve()
    device_ = (whole.parent if (whole / "partition").exists() else whole) / "dev"
    root = Path("/sys/fs/cgroup/blkio")
    if not (root / "blkio.throttle.read_bps_device").exists():
        pytest.skip("this kernel has no control groups of version 1 with blkio; those of version 2 belong to systemd")
    group = root / f"assay-test-{os.getpid()}"
    group.mkdir()
    try:
        (group / "blkio.throttle.read_bps_device").write_text(f"{device_.read_text().strip()} {20_000_000}\n")
        yield group
    finally:
        group.rmdir()


@pytest.mark.usefixtures("assayer")
def test_a_forecast_stands_beside_a_run_on_a_limited_disk(throttle: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    words = ["tpch", "--scale", "0.1", "--cold", "--queries", "1,6,12", "--on", str(target), "--out"]
    command = [sys.executable, "-m", "assay", "dbms"]
    subprocess.run([*command, *words, str(tmp_path / "here")], check=True, capture_output=True)
    enter = lambda: (throttle / "cgroup.procs").write_text(str(os.getpid()))  # noqa: E731
    limited = [*command, *words, str(tmp_path / "there")]
    subprocess.run(limited, check=True, capture_output=True, preexec_fn=enter)
    asked = ["predict", str(tmp_path / "here"), "--on", "limit:20MB/s", "--against", str(tmp_path / "there"), "--json"]
    done = subprocess.run([*command, *asked], check=True, capture_output=True, text=True)
    (found,) = json.loads(done.stdout)
    assert [row["name"] for row in found["against"]["rows"]] == ["q01", "q06", "q12"]
    assert found["against"]["summary"]["sum_ratio"] > 0
    # Printed where a test fails, and with -rP: how near it came here.
    sys.stdout.write(json.dumps(found["against"], indent=1))
