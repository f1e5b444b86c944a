"""What an index run writes at most, against rules and against what runs did write."""

from __future__ import annotations

from typing import Any

import pytest
from assay.study.work import written

LOAD_S = 10.0


def job(index: str, workload: str, **given: Any) -> dict[str, Any]:
    usual: dict[str, Any] = {
        "index": index,
        "workload": workload,
        "target": "/dev/shm",
        "keys": 100_000,
        "sizes": {"key": {"least": 8, "most": 8}, "value": {"least": 8, "most": 8}},
        "counted_operations": 100_000,
        "window": {"seconds": 0.3},
        "options": {},
    }
    return usual | given


# Bytes that runs wrote: blocks or pages per change of their records, times the changes of load and window.
SEEN = [
    # index, workload, pool, bytes written for each change in the window, changes a second
    ("bztree", "insert", None, 2.75 * 256, 422_710),
    ("bztree", "update", None, 3.043 * 256, 793_403),
    ("dash-eh", "insert", None, 1.032 * 256, 936_079),
    ("dash-lh", "insert", None, 1.522 * 256, 1_612_158),
    ("fptree", "insert", None, 2.067 * 256, 621_534),
    ("fptree", "update", None, 0.993 * 256, 2_535_095),
    ("ssd-btree", "insert", 1 << 20, 0.753 * 4096, 23_511),
    ("ssd-btree", "update", 1 << 20, 0.742 * 4096, 16_909),
    ("ssd-hash", "update", 1 << 20, 0.806 * 4096, 2_840),
]


@pytest.mark.parametrize(("index", "workload", "pool", "each", "per_s"), SEEN)
def test_no_run_wrote_more_than_its_plan_said(
    index: str, workload: str, pool: int | None, each: float, per_s: int
) -> None:
    one = job(index, workload, pool_bytes=pool)
    changes = one["keys"] + one["counted_operations"] + 0.8 * per_s
    assert changes * each < written.at_most(one, LOAD_S, 0.8)


@pytest.mark.parametrize(
    ("index", "most"),
    [("dash-eh", 0.25e9), ("fptree", 0.25e9), ("ssd-btree", 50e6), ("ssd-hash", 50e6)],
)
def test_a_small_run_that_reads_is_bounded_by_its_load(index: str, most: float) -> None:
    """The plan of each was 7.2 GiB once, whatever it did."""
    reading = written.at_most(job(index, "lookup"), LOAD_S, 5.5)
    assert reading < most
    assert reading == written.at_most(job(index, "ycsb-c"), LOAD_S, 500.0)
    assert reading < written.at_most(job(index, "update"), LOAD_S, 5.5)


def test_operations_bound_what_a_time_does_not() -> None:
    few = job("fptree", "insert", window={"operations": 1000}, counted_operations=0)
    each = 8 * 256 + 2 * 16
    assert written.at_most(few, LOAD_S, 1.0) == (100_000 + 1000) * each


def test_a_load_is_never_said_to_write_less_than_its_data() -> None:
    many = job("ssd-btree", "lookup", keys=10**9)
    assert written.at_most(many, LOAD_S, 5.5) >= 10**9 * 16 * 2.5
    # With a pool that is too small each key may write pages, and more of them than the data has.
    small = job("ssd-btree", "lookup", pool_bytes=1 << 20)
    assert written.at_most(small, LOAD_S, 5.5) > written.at_most(job("ssd-btree", "lookup"), LOAD_S, 5.5)
    larger = job("ssd-btree", "lookup", pool_bytes=1 << 20, options={"page_bytes": 16384})
    assert written.at_most(larger, LOAD_S, 5.5) > written.at_most(small, LOAD_S, 5.5)


def test_beneath_a_file_of_a_drive_blocks_are_pages() -> None:
    on_drive = job("fptree", "lookup", target="/nowhere/at/all")
    assert written.at_most(on_drive, LOAD_S, 5.5) == 100_000 * (8 * 4096 + 32)


def test_of_an_index_of_others_only_the_time_is_known() -> None:
    assert written.at_most(job("lmdb", "lookup"), LOAD_S, 5.5) == int(15.5 * written.BYTES_PER_S)
