"""`--set` of `assay predict`."""

from __future__ import annotations

import pytest
from assay.binary import Binary, BinaryError
from assay.error import AssayError
from assay.twin.point_set import applied
from assay.twin.predict import Point, predict

POINT = Point("twin:p5800x*4", depth=64, path="libaio")


def test_host_and_load_in_the_words_of_the_options() -> None:
    texts = ["cores=1", "clock=1.2GHz", "threads=8", "size=16KiB", "mix=70%", "pattern=sequential", "working-set=1GiB"]
    changed = applied(POINT, texts)
    assert (changed.cores, changed.clock_hz, changed.threads) == (1, 1.2e9, 8)
    assert (changed.size_bytes, changed.read_percent, changed.sequential) == (16384, 70.0, True)
    assert changed.working_set_bytes == 1 << 30
    assert changed.depth == 64


def test_a_rate_in_bytes_counts_operations_of_the_size_that_is_set() -> None:
    assert applied(POINT, ["rate=16MiB/s", "size=16KiB"]).rate_per_s == 1024


@pytest.mark.parametrize(
    "text",
    ["cores=0", "cores=1.5", "clock=fast", "thread=2", "depth", "=4", "mix=130", "op=append", "layout=new"],
)
def test_nonsense_is_refused_with_a_hint(text: str) -> None:
    with pytest.raises(AssayError) as refused:
        applied(POINT, [text])
    assert refused.value.hint


def test_one_slow_core_is_what_limits_four_fast_drives() -> None:
    try:
        Binary.find()
    except BinaryError as missing:
        pytest.skip(str(missing))
    slow = predict(applied(POINT, ["cores=1", "clock=1GHz", "threads=4"]))
    fast = predict(applied(POINT, ["cores=64", "threads=64"]))
    assert slow["bound_by"] in ("host-cpu", "path")
    assert slow["bandwidth_bytes_per_s"] < 0.2 * fast["bandwidth_bytes_per_s"]
    assert fast["bound_by"] not in ("host-cpu", "path")


def test_a_growing_log_takes_longer_than_one_that_is_written_again() -> None:
    try:
        Binary.find()
    except BinaryError as missing:
        pytest.skip(str(missing))
    log = Point("twin:p4610", "write", sequential=True, size_bytes=8192, durability="fdatasync", path="pread")
    again, grown = predict(log), predict(applied(log, ["layout=grow"]))
    assert grown["iops"] < again["iops"]
    assert grown["band"]["bandwidth"] > again["band"]["bandwidth"]
    assert grown["extrapolated"]
