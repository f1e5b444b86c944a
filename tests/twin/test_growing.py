"""Logs that grow, in both engines."""

from __future__ import annotations

import tempfile

import pytest
from assay.binary import Binary, BinaryError
from assay.target import catalog, names
from assay.target.host import HostWish
from assay.twin.predict import Point, predict


@pytest.fixture
def binary() -> Binary:
    try:
        return Binary.find()
    except BinaryError as missing:
        pytest.skip(str(missing))


def simulated(binary: Binary, on: str, threads: int, layout: str) -> float:
    """Appends of 8 KiB a second, each with fdatasync, in virtual time."""
    target = names.target(on)
    host = HostWish().document(target)
    job = {
        "version": 1,
        "name": "log",
        "targets": [
            {
                "id": "main",
                "kind": "twin",
                "members": [],
                "twin": {"version": catalog.VERSION, "label": on, "target": target, "host": host},
            }
        ],
        "datasets": [{"name": "log", "target": "main", "bytes": 1 << 30, "files": threads, "layout": layout}],
        "classes": [
            {
                "name": "log",
                "dataset": "log",
                "path": {"kind": "pread", "direct": True},
                "operation": {"kind": "write"},
                "pattern": {"kind": "sequential"},
                "size": 8192,
                "threads": threads,
                "durability": {"kind": "fdatasync"},
            }
        ],
        "window": {"measure_s": 0.2, "interval_ms": 100},
        "cache": "bypassed",
    }
    with tempfile.TemporaryFile() as log:
        run = binary.start(job, log)
        last = list(run.events())[-1]
        run.wait()
    assert last["event"] == "finished", last
    return float(last["record"]["classes"][0]["ops_rate"]["value"])


@pytest.mark.parametrize("on", ["twin:p4610", "twin:p4610*4", "twin:pmem100-128g*6", "twin:970evoplus"])
@pytest.mark.parametrize("threads", [1, 2, 4, 16, 32])
def test_both_engines_agree_on_what_growing_costs(binary: Binary, on: str, threads: int) -> None:
    path = "pread" if "pmem" in on else "pread+direct"
    log = Point(on, "write", sequential=True, size_bytes=8192, threads=threads, path=path, durability="fdatasync")
    asked = predict(Point(**{**vars(log), "layout": "grow"}))["iops"]
    seen = simulated(binary, on, threads, "grow")
    assert seen < simulated(binary, on, threads, "written") * 1.01
    # Played writers that joined a commit before their own work was done were 1.35 times as fast.
    assert asked == pytest.approx(seen, rel=0.25 if "970" in on else 0.1)


@pytest.mark.parametrize(
    ("on", "threads", "told"), [("twin:970evoplus", 32, True), ("twin:970evoplus", 1, False), ("twin:p4610", 32, False)]
)
def test_flushes_that_linux_merges_are_told(binary: Binary, on: str, threads: int, told: bool) -> None:
    log = Point(on, "write", sequential=True, size_bytes=8192, threads=threads, path="pread", durability="fdatasync")
    found = predict(log)
    assert told == any("flushes of several" in word for word in found["extrapolated"])


@pytest.mark.parametrize("threads", [1, 2, 8, 32])
def test_both_engines_merge_flushes(binary: Binary, threads: int) -> None:
    on = "twin:970evoplus"
    log = Point(on, "write", sequential=True, size_bytes=8192, threads=threads, path="pread", durability="fdatasync")
    assert predict(log)["iops"] == pytest.approx(simulated(binary, on, threads, "written"), rel=0.25)
