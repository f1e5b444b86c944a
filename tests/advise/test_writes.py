"""Rules of writes: logs that grow or are recycled, flushes that are shared or out of the way, pages of a mapping."""

from __future__ import annotations

from typing import Any

import pytest
from assay.untyped import Json

from advise.shelf import Shelf

RATED = {"kind": "fixed", "rate_per_s": 5.0}
MIX = [{"bytes": 4096, "weight": 1}, {"bytes": 8192, "weight": 1}]


def durable(kind: str = "fdatasync", every: int | None = 1) -> Json:
    return {"kind": kind, "every": every}


def appends(made: Shelf, layout: str, rate: float, path: str = "pread", **wanted: Any) -> Shelf:
    figures = {"ops_rate": rate, "p50": 1e9 / rate}
    defaults = {"operation": "write", "pattern": "sequential", "size": 8192, "durability": durable()}
    made.add(path, figures, {"layout": layout}, **(defaults | wanted))
    return made


def test_an_append_to_a_recycled_file_is_held_against_one_to_a_growing_file() -> None:
    made = appends(appends(Shelf(), "grow", 1000.0), "written", 4000.0)
    found = made.finding("recycle-logs")
    assert made.ratio("recycle-logs") == pytest.approx((4, 4 / 1.5, 6))
    assert made.texts("recycle-logs") == [
        "8 KiB, 1 thread(s): 1 000/s to a growing file, 4 000/s to a recycled one: 1.00 ms against 250 us at the median"
    ]
    assert found.evidence[0].records == ("r0", "r1")
    assert found.trial is not None
    assert (found.trial.settings["entry_bytes"], found.trial.settings["threads"]) == ("8192B", 1)


def test_the_smallest_append_is_tried() -> None:
    made = Shelf()
    for size in (8192, 512, 65536):
        appends(appends(made, "grow", 1000.0, size=size), "written", 4000.0, size=size)
    trial = made.finding("recycle-logs").trial
    assert trial is not None
    assert trial.settings["entry_bytes"] == "512B"


def test_a_mix_of_sizes_is_said_and_tried_as_8_kib() -> None:
    made = appends(appends(Shelf(), "grow", 1000.0, size=MIX), "written", 4000.0, size=MIX)
    assert made.texts("recycle-logs")[0].startswith("mix of 4 KiB (1), 8 KiB (1), 1 thread(s): ")
    trial = made.finding("recycle-logs").trial
    assert trial is not None
    assert trial.settings["entry_bytes"] == "8192B"


@pytest.mark.parametrize("missing", ["grow", "written"])
def test_times_are_said_where_both_are_known(missing: str) -> None:
    made = Shelf()
    for layout, rate in (("grow", 1000.0), ("written", 4000.0)):
        figures = {"ops_rate": rate} | ({} if layout == missing else {"p50": 5.0})
        wanted: Json = {"operation": "write", "pattern": "sequential", "durability": durable()}
        made.add("pread", figures, {"layout": layout}, **wanted)
    assert made.texts("recycle-logs")[0].endswith("4 000/s to a recycled one")


@pytest.mark.parametrize(
    "wanted",
    [
        {"durability": durable("none")},
        {"durability": durable("o_dsync")},
        {"durability": durable(every=2)},
        {"operation": "read"},
        {"pattern": "uniform"},
        {"arrivals": RATED},
        {"path": "mmap"},
    ],
)
def test_what_is_no_durable_append_by_a_call_is_no_evidence(wanted: Json) -> None:
    made = appends(appends(Shelf(), "grow", 1000.0, **wanted), "written", 4000.0, **wanted)
    assert made.found("recycle-logs") is None


def test_every_write_is_flushed_where_nothing_else_is_said() -> None:
    wanted: Json = {"durability": durable(every=None)}
    made = appends(appends(Shelf(), "grow", 1000.0, **wanted), "written", 4000.0, **wanted)
    assert made.ratio("recycle-logs")[0] == pytest.approx(4)


def commits(made: Shelf, every: int | None, rate: float, kind: str = "fdatasync", **wanted: Any) -> Shelf:
    return appends(made, "written", rate, **({"durability": durable(kind, every)} | wanted))


def test_one_flush_for_several_writes_is_held_against_one_for_each() -> None:
    made = commits(commits(Shelf(), None, 1000.0), 2, 1800.0)
    found = made.finding("group-commit")
    assert made.ratio("group-commit") == pytest.approx((1.8, 1.2, 2.7))
    assert made.texts("group-commit") == ["1 000 writes/s with a flush each, 1 800 writes/s with one flush for 2"]
    assert found.evidence[0].records == ("r0", "r1")


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        ("none", {}),
        ("persist", {}),
        ("fdatasync", {"operation": "read"}),
        ("fdatasync", {"pattern": "uniform"}),
        ("fdatasync", {"arrivals": RATED}),
    ],
)
def test_writes_without_a_flush_share_none(kind: str, wanted: Json) -> None:
    made = commits(commits(Shelf(), 1, 1000.0, kind, **wanted), 16, 9000.0, kind, **wanted)
    assert made.found("group-commit") is None


@pytest.mark.parametrize("every", [1, 2])
def test_one_kind_of_commit_alone_is_no_evidence(every: int) -> None:
    assert commits(Shelf(), every, 1000.0).found("group-commit") is None


def log(kind: str = "fdatasync", every: int | None = 1, **changes: Any) -> Json:
    """A log beside the class that is looked at."""
    found = {
        "name": "wal",
        "operation": {"kind": "write"},
        "pattern": {"kind": "sequential"},
        "durability": durable(kind, every),
    }
    return found | changes


def beside(made: Shelf, bandwidth: float, *others: Json, **wanted: Any) -> Shelf:
    made.add("pread", {"bandwidth": bandwidth}, {"beside": list(others)}, **({"pattern": "sequential"} | wanted))
    return made


def test_a_scan_beside_a_log_that_flushes_is_held_against_one_beside_a_log_that_does_not() -> None:
    made = beside(beside(Shelf(), 1e9, log()), 3e9, log("none"))
    found = made.finding("flush-off-path")
    assert made.ratio("flush-off-path") == pytest.approx((3, 2, 4.5))
    assert made.texts("flush-off-path") == ["raw: 1.00 GB/s beside a log that flushes every write, 3.00 GB/s without"]
    assert found.evidence[0].records == ("r0", "r1")


@pytest.mark.parametrize(("every", "said"), [(16, "once in 16"), (17, "once in 17")])
def test_a_flush_for_sixteen_writes_is_out_of_the_way(every: int, said: str) -> None:
    made = beside(beside(Shelf(), 1e9, log()), 3e9, log(every=every))
    assert made.texts("flush-off-path")[0].endswith(f"3.00 GB/s beside one that flushes {said}")


def test_of_several_logs_the_most_frequent_flush_is_said() -> None:
    made = beside(beside(Shelf(), 1e9, log()), 3e9, log(every=16), log("none"))
    assert made.texts("flush-off-path")[0].endswith("beside one that flushes once in 16")


def test_a_flush_is_of_each_write_where_nothing_else_is_said() -> None:
    made = beside(beside(Shelf(), 1e9, log(every=None)), 3e9, log("none"))
    assert made.ratio("flush-off-path")[0] == pytest.approx(3)
    silent = log()
    del silent["durability"]
    assert beside(beside(Shelf(), 1e9, log()), 3e9, silent).ratio("flush-off-path")[0] == pytest.approx(3)


@pytest.mark.parametrize(
    ("slow", "fast"),
    [
        ([], []),
        ([log()], [log(every=15)]),
        ([log(every=2)], [log("none")]),
        ([log(), log(every=2)], [log("none")]),
        ([log()], [log("none"), log()]),
        ([log(operation={"kind": "read"})], [log("none")]),
        ([log(operation=None)], [log("none")]),
        ([log(pattern={"kind": "uniform"})], [log("none")]),
        ([log(pattern=None)], [log("none")]),
        ([log()], [{"name": "scan"}]),
    ],
)
def test_without_a_log_of_each_kind_there_is_no_evidence(slow: list[Json], fast: list[Json]) -> None:
    assert beside(beside(Shelf(), 1e9, *slow), 3e9, *fast).found("flush-off-path") is None


def test_a_log_alone_is_no_company() -> None:
    made = Shelf()
    for kind, bandwidth in (("fdatasync", 1e9), ("none", 3e9)):
        wanted: Json = {"operation": "write", "pattern": "sequential", "durability": durable(kind)}
        made.add("pread", {"bandwidth": bandwidth}, **wanted)
    assert made.found("flush-off-path") is None


def test_a_class_that_has_a_rate_can_gain_nothing() -> None:
    made = beside(beside(Shelf(), 1e9, log(), arrivals=RATED), 3e9, log("none"))
    assert made.found("flush-off-path") is None


def test_writes_beside_the_log_count_where_no_reads_are() -> None:
    wanted: Json = {"operation": "write", "pattern": "uniform"}
    made = beside(beside(Shelf(), 1e9, log(), **wanted), 2e9, log("none"), **wanted)
    assert made.ratio("flush-off-path")[0] == pytest.approx(2)
    made = beside(beside(made, 1e9, log()), 3e9, log("none"))
    assert made.ratio("flush-off-path")[0] == pytest.approx(3), "the reads count"
    assert len(made.texts("flush-off-path")) == 2


def changed(made: Shelf, path: str, kind: str, rate: float, layout: str = "written", **wanted: Any) -> Shelf:
    operation = {"kind": "mix", "write_percent": 80}
    asks = {"operation": operation, "durability": durable(kind)} | wanted
    made.add(path, {"ops_rate": rate}, {"layout": layout}, **asks)
    return made


def test_msync_is_held_against_calls() -> None:
    made = changed(changed(Shelf(), "mmap", "msync", 100.0), "pread", "fdatasync", 5000.0)
    found = made.finding("no-mmap-msync")
    assert made.ratio("no-mmap-msync") == pytest.approx((50, 50 / 1.5, 75))
    assert made.texts("no-mmap-msync") == [
        "4 KiB pages, 80 % written, 1 thread(s): 100/s by mmap and msync, 5 000/s by calls and fdatasync"
    ]
    assert found.evidence[0].records == ("r0", "r1")
    assert found.trial is not None
    assert found.trial.settings["write_percent"] == 80


@pytest.mark.parametrize(
    ("operation", "said"), [({"kind": "write"}, "100 % written"), ({"kind": "mix", "write_percent": 1}, "1 % written")]
)
def test_the_share_of_writes_is_said(operation: Json, said: str) -> None:
    made = changed(Shelf(), "mmap", "msync", 100.0, operation=operation)
    changed(made, "pread", "fdatasync", 5000.0, operation=operation)
    assert said in made.texts("no-mmap-msync")[0]


@pytest.mark.parametrize(
    ("mapped", "called", "wanted"),
    [
        (("mmap", "none"), ("pread", "fdatasync"), {}),
        (("mmap", "fdatasync"), ("pread", "fdatasync"), {}),
        (("pread", "msync"), ("mmap", "fdatasync"), {}),
        (("mmap", "msync"), ("pread+direct", "fdatasync"), {}),
        (("mmap", "msync"), ("io_uring", "fdatasync"), {}),
        (("mmap", "msync"), ("pread", "none"), {}),
        (("mmap", "msync"), ("pread", "fdatasync"), {"operation": "read"}),
        (("mmap", "msync"), ("pread", "fdatasync"), {"operation": {"kind": "mix", "write_percent": 0}}),
    ],
)
def test_pages_made_durable_otherwise_are_no_evidence(
    mapped: tuple[str, str], called: tuple[str, str], wanted: Json
) -> None:
    made = changed(changed(Shelf(), *mapped, 100.0, **wanted), *called, 5000.0, **wanted)
    assert made.found("no-mmap-msync") is None


def test_calls_to_a_growing_file_are_no_evidence() -> None:
    made = changed(changed(Shelf(), "mmap", "msync", 100.0), "pread", "fdatasync", 5000.0, "grow")
    assert made.found("no-mmap-msync") is None
