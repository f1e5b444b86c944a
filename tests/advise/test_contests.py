"""Indexes that did the same work, and the same database on a drive and on memory."""

from __future__ import annotations

from typing import Any

import pytest
from assay.untyped import Json

from advise.shelf import Shelf

UNRATED: Json = {"change": {"figures": {}}}


def raced(*rates: tuple[str, float], made: Shelf | None = None, **more: Any) -> Shelf:
    made = made or Shelf()
    for name, rate in rates:
        made.work("index", name, rate, **({"workload": "lookup"} | more))
    return made


def test_the_best_index_is_held_against_the_next_best() -> None:
    made = raced(("bztree", 1e6), ("fptree", 6e6), ("dash", 2e6))
    found = made.finding("index")
    assert made.ratio("index") == pytest.approx((3, 2, 4.5))
    assert found.says.startswith("fptree is ahead in lookup. A hash table")
    assert made.texts("index") == [
        "lookup, threads 2 on /drive, operations/s: fptree 6.00 M, dash 2.00 M, bztree 1.00 M"
    ]
    assert found.evidence[0].records == ("work-w1", "work-w2", "work-w0")
    assert found.gain is not None
    assert (found.gain.provenance, found.gain.kind) == (
        "measured",
        "no interval: one run each, taken to be within 1.5 times",
    )


def test_of_two_runs_each_the_ranges_are_the_band() -> None:
    # Medians 5 and 2; the widest that both ranges allow is 4 by 2.5 to 6 by 1.5.
    made = raced(("fptree", 4e6), ("fptree", 6e6), ("dash", 1.5e6), ("dash", 2.5e6))
    assert made.ratio("index") == pytest.approx((2.5, 4 / 2.5, 6 / 1.5))


@pytest.mark.parametrize("lone", ["fptree", "dash"])
def test_one_run_of_either_side_has_no_range(lone: str) -> None:
    every = (("fptree", 5e6), ("fptree", 5e6), ("dash", 2e6), ("dash", 2e6))
    rates = [pair for number, pair in enumerate(every) if pair[0] != lone or number % 2]
    assert raced(*rates).ratio("index") == pytest.approx((2.5, 2.5 / 1.5, 3.75))


def test_places_are_said_where_there_are_several() -> None:
    made = raced(("fptree", 6e6), ("dash", 2e6))
    raced(("fptree", 6e6), ("dash", 2e6), made=made, workload="scan")
    assert made.finding("index").says.startswith("fptree is ahead in lookup, scan. ")
    raced(("fptree", 1e6), ("dash", 2e6), made=made, medium="memory")
    assert made.finding("index").says.startswith(
        "fptree is ahead on /drive in lookup, scan; dash is ahead on /memory in lookup. "
    )


@pytest.mark.parametrize(
    "other",
    [
        {"kind": "database"},
        {"status": "invalid"},
        UNRATED,
        {"workload": "scan"},
        {"medium": "memory"},
        {"parameters": {"threads": 4}},
    ],
)
def test_an_index_without_a_rival_at_the_same_work_is_no_evidence(other: Json) -> None:
    made = raced(("fptree", 6e6))
    more = {"workload": "lookup"} | other
    made.work(more.pop("kind", "index"), "dash", 2e6, **more)
    assert made.found("index") is None
    assert Shelf().found("index") is None


def test_a_suspect_run_of_either_is_named() -> None:
    made = raced(("fptree", 6e6))
    raced(("dash", 2e6), made=made, status="suspect")
    gain = made.finding("index").gain
    assert gain is not None
    assert gain.status == "suspect"


def stored(drive: list[float], memory: list[float], made: Shelf | None = None, **more: Any) -> Shelf:
    made = made or Shelf()
    for rate in drive:
        made.work("database", "sqlite", rate, **more)
    for rate in memory:
        made.work("database", "sqlite", rate, "memory", **more)
    return made


def test_memory_is_held_against_the_drive() -> None:
    made = stored([400.0], [1600.0])
    found = made.finding("faster-storage")
    assert made.ratio("faster-storage") == pytest.approx((4, 4 / 1.5, 6))
    assert (found.says, found.outcome) == ("Storage is a good part of what this database waits for.", "advised")
    assert made.texts("faster-storage") == ["sqlite, tpcc, threads 2: 400 transactions/s on a drive, 1 600 on memory"]
    assert found.evidence[0].records == ("work-w0", "work-w1")
    assert found.gain is not None
    assert found.gain.kind == "one run each, taken to be within 1.5 times"


def test_two_runs_each_have_a_range() -> None:
    # Medians 5 and 2; 4 by 2.5 to 6 by 1.5.
    made = stored([150.0, 250.0], [400.0, 600.0])
    assert made.ratio("faster-storage") == pytest.approx((2.5, 4 / 2.5, 6 / 1.5))
    gain = made.finding("faster-storage").gain
    assert gain is not None
    assert gain.kind == "range of 2 and 2 runs"


@pytest.mark.parametrize(("drive", "memory"), [([200.0], [500.0, 500.0]), ([200.0, 200.0], [500.0])])
def test_one_run_of_a_medium_has_no_range(drive: list[float], memory: list[float]) -> None:
    assert stored(drive, memory).ratio("faster-storage") == pytest.approx((2.5, 2.5 / 1.5, 3.75))


def test_work_that_gains_beside_work_that_does_not_depends() -> None:
    made = stored([400.0, 400.0], [400.0, 400.0])
    found = made.finding("faster-storage")
    assert found.outcome == "no gain here"
    assert found.says.startswith("Memory in the place of the drive gains little")
    stored([400.0, 400.0], [1600.0, 1600.0], made=made, workload="ycsb")
    found = made.finding("faster-storage")
    assert found.outcome == "depends"
    assert found.says.startswith("Some of this work may gain")
    assert len(found.evidence) == 2


def test_two_works_that_gain_are_advised() -> None:
    made = stored([400.0], [1600.0])
    stored([400.0], [1200.0], made=made, workload="ycsb")
    assert made.finding("faster-storage").outcome == "advised"


@pytest.mark.parametrize(
    ("drive", "memory", "more"),
    [
        ([], [], {}),
        ([400.0], [], {}),
        ([], [400.0], {}),
        ([400.0], [1600.0], {"status": "invalid"}),
        ([400.0], [1600.0], UNRATED),
    ],
)
def test_one_medium_alone_is_no_evidence(drive: list[float], memory: list[float], more: Json) -> None:
    assert stored(drive, memory, **more).found("faster-storage") is None


def test_indexes_say_nothing_of_databases() -> None:
    made = raced(("fptree", 1e6))
    raced(("fptree", 4e6), made=made, medium="memory")
    assert made.found("faster-storage") is None
