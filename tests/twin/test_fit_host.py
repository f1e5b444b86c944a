"""What a path costs is told apart by who sleeps and who rings."""

from __future__ import annotations

from typing import Any

import pytest
from assay.twin import fit_host
from assay.untyped import Json

READ, BYTE, CALL, SLEEP, BELL = 9_000.0, 0.1, 4_000.0, 10_000.0, 30_000.0


def record(study: str, factor: str, cycles: float, path: Json, threads: int = 1) -> Json:
    name, value = factor.split("=")
    return {
        "job": {
            "labels": {"study": study, f"factor.{name}": value},
            "classes": [{"path": path, "threads": threads}],
        },
        "classes": [{"cpu": {"cycles_per_op": {"value": cycles}}}],
    }


def host_records(path: Json, *, deep: bool) -> list[Json]:
    alone = READ + CALL + SLEEP + BELL
    loads = {"read 4KiB": alone + BYTE * 4096, "read 64KiB": alone + BYTE * 65536}
    loads |= {f"write{name[4:]}": cycles + 500 for name, cycles in loads.items()}
    if deep:
        shared = READ + BYTE * 4096 + (SLEEP + BELL) / 16
        loads |= {"one by one": shared + CALL, "in batches": shared + CALL / 16}
    return [record("fit-host", f"load={name}", cycles, path) for name, cycles in loads.items()]


def point_records(bell: float) -> list[Json]:
    path = {"kind": "pread", "direct": True}
    seen = (("threads 1", 1, bell), ("threads twice the cores", 4, bell / 4))
    return [record("fit-points", f"point={name}", 20_000 + ring, path, threads) for name, threads, ring in seen]


def costs(*records: Any) -> Json:
    return fit_host.costs(records, "a test", "2026-11-23")


def value(cost: Json, name: str) -> float:
    found: float = cost[name]["value"]
    return found


def test_sleep_bell_call_and_request_are_told_apart() -> None:
    ring = {"kind": "io_uring", "direct": True}
    cost = costs(*host_records(ring, deep=True), *point_records(BELL))["io_uring"]
    wanted = {"read": READ, "write": READ + 500, "byte_read": BYTE, "submission": CALL, "sleep": SLEEP, "bell": BELL}
    for name, cycles in wanted.items():
        assert value(cost, f"cycles_per_{name}") == pytest.approx(cycles, rel=0.01), name
        assert cost[f"cycles_per_{name}"]["kind"] == "measured"


def test_writes_alone_are_noisy_and_those_at_depth_say_what_a_write_costs() -> None:
    ring = {"kind": "io_uring", "direct": True}
    records = [
        each for each in host_records(ring, deep=True) if not each["job"]["labels"]["factor.load"].startswith("write")
    ]
    noisy = [record("fit-host", f"load=write {size}", 20_000, ring) for size in ("4KiB", "64KiB")]
    deep = READ + 500 + CALL + (SLEEP + BELL) / 16
    cost = costs(*records, *noisy, *point_records(BELL), record("fit-points", "point=write depth 16", deep, ring))
    assert value(cost["io_uring"], "cycles_per_write") == pytest.approx(READ + 500, rel=0.01)


def test_a_device_that_needs_no_waking_has_no_bell() -> None:
    ring = {"kind": "io_uring", "direct": True}
    cost = costs(*host_records(ring, deep=True), *point_records(-2000.0))["io_uring"]
    assert "cycles_per_bell" not in cost
    assert value(cost, "cycles_per_sleep") == pytest.approx(SLEEP + BELL, rel=0.01)


def test_a_path_with_one_request_in_flight_sleeps_in_each_of_its_calls() -> None:
    call = {"kind": "pread", "direct": True}
    cost = costs(*host_records(call, deep=False), *point_records(BELL))["pread_direct"]
    assert value(cost, "cycles_per_read") == pytest.approx(READ + CALL + SLEEP, rel=0.01)
    assert value(cost, "cycles_per_bell") == pytest.approx(BELL)
    assert "cycles_per_sleep" not in cost


def test_what_the_page_cache_serves_rings_nobody() -> None:
    cost = costs(*host_records({"kind": "pread"}, deep=False), *point_records(BELL))["pread_buffered"]
    assert "cycles_per_bell" not in cost
