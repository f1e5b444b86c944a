"""What is the limit where the device is not: which pair of paths shows it, and how busy its threads are."""

from __future__ import annotations

from typing import Any

import pytest
from assay.advise.rules.bottleneck import utilisation
from assay.results import group
from assay.untyped import Json

from advise.shelf import Shelf


def shelf(*bandwidths: tuple[str, float], **wanted: Any) -> Shelf:
    """One read by each path."""
    made = Shelf()
    for path, bandwidth in bandwidths:
        made.add(path, {"bandwidth": bandwidth}, **wanted)
    return made


SLOW, FAST = ("pread+direct", 10e6), ("io_uring+direct", 100e6)


def test_nothing_to_compare_is_no_evidence() -> None:
    assert Shelf().found("bottleneck") is None
    assert shelf(SLOW).found("bottleneck") is None
    assert shelf(("pread+direct", 0.0), FAST).found("bottleneck") is None, "what gave nothing is no path to compare"


def test_the_slowest_way_is_held_against_the_best_one() -> None:
    made = shelf(("libaio+direct", 50e6), SLOW, FAST)
    found = made.finding("bottleneck")
    assert found.says.replace("\u00a0", " ") == (
        "pread direct uses 10 % of what the device gave when asked the same, and neither the device nor the CPU is busy"
        " all the time: the path between them is what waits."
    )
    assert made.ratio("bottleneck") == pytest.approx((10, 10 / 1.5, 15))
    assert made.texts("bottleneck") == [
        "4 KiB: pread direct with 1 in flight 10.0 MB/s, io_uring direct with 1 in flight 100 MB/s"
    ]
    assert found.evidence[0].records == ("r1", "r2")


def test_a_path_of_one_byte_a_second_is_compared() -> None:
    assert shelf(("pread+direct", 1.0), ("io_uring+direct", 10.0)).ratio("bottleneck")[0] == pytest.approx(10)


def test_a_mix_of_sizes_is_said_as_one() -> None:
    mix = [{"bytes": 4096, "weight": 3}, {"bytes": 16384, "weight": 1}]
    assert shelf(SLOW, FAST, size=mix).texts("bottleneck")[0].startswith("mix of 4 KiB (3), 16 KiB (1): pread direct")


def test_of_several_pairs_the_one_with_the_least_share_is_shown() -> None:
    made = shelf(("pread+direct", 1e6), ("io_uring+direct", 4e6), depth=4)
    for path, bandwidth in (SLOW, FAST):
        made.add(path, {"bandwidth": bandwidth})
    for path, bandwidth in (("pread+direct", 1e6), ("io_uring+direct", 4e6)):
        made.add(path, {"bandwidth": bandwidth}, depth=8)
    assert made.ratio("bottleneck")[0] == pytest.approx(10)


def test_a_pair_whose_band_spans_one_gives_way_to_one_that_does_not() -> None:
    made = shelf(("pread+direct", 90e6), FAST)
    near = made.finding("bottleneck")
    assert near.says == "No way to the device is shown to leave much of it unused."
    assert (near.gain, near.outcome) == (None, "no gain here")
    # The lower share of the two, in three runs each that scatter: their band spans one.
    for value in (1e6, 10e6, 100e6):
        made.add("pread+direct", {"bandwidth": value}, depth=2)
        made.add("io_uring+direct", {"bandwidth": 9 * value}, depth=2)
    for path, bandwidth in (("pread+direct", 30e6), ("io_uring+direct", 90e6)):
        made.add(path, {"bandwidth": bandwidth}, depth=4)
    assert made.ratio("bottleneck")[0] == pytest.approx(3)


@pytest.mark.parametrize(
    ("other", "about"),
    [
        ("mmap", {}),
        ("pread", {}),
        ("pread", {"cache": "bypassed"}),
        ("pread", {"cache": "warm"}),
        ("pread+direct", {"study": "another"}),
        ("pread+direct", {"on": "elsewhere"}),
    ],
)
def test_what_differs_by_more_than_the_way_is_not_compared(other: str, about: Json) -> None:
    made = shelf(FAST)
    made.add(other, {"bandwidth": 1e6}, about)
    assert made.found("bottleneck") is None


@pytest.mark.parametrize(
    ("wanted", "about"),
    [
        ({"operation": "write"}, {}),
        ({"arrivals": {"kind": "fixed", "rate_per_s": 5.0}}, {}),
        ({}, {"cache": "warm"}),
    ],
)
def test_writes_rates_and_warm_caches_say_nothing_of_the_way(wanted: Json, about: Json) -> None:
    made = Shelf()
    for path, bandwidth in (SLOW, FAST):
        made.add(path, {"bandwidth": bandwidth}, about, **wanted)
    assert made.found("bottleneck") is None


def test_mappings_are_a_class_of_their_own_and_compared_with_each_other() -> None:
    made = Shelf()
    for advice, bandwidth in (("normal", 10e6), ("random", 90e6)):
        made.add("mmap", {"bandwidth": bandwidth}, {"cache": "cold"})
        asks: Any = made.cells[-1].record
        asks["job"]["classes"][0]["path"]["advice"] = advice
    made.add("pread", {"bandwidth": 1e6}, {"cache": "cold"})
    assert made.ratio("bottleneck")[0] == pytest.approx(9)


@pytest.mark.parametrize(
    ("slow", "says"),
    [
        (60e6, "What was measured reaches most of what the device gave at its best."),
        (50e6, "pread direct uses 50 % of what the device gave when asked the same, and "),
    ],
)
def test_more_than_half_of_the_best_is_most_of_it(slow: float, says: str) -> None:
    found = shelf(("pread+direct", slow), FAST).finding("bottleneck")
    assert found.says.replace("\u00a0", " ").startswith(says)
    assert (found.outcome, found.gain is None) == (("no gain here", True) if slow == 60e6 else (None, False))


@pytest.mark.parametrize(
    ("user_s", "cause"),
    [
        (9.0, "neither the device nor the CPU is busy all the time"),
        (9.5, "its threads are on the CPU 95 % of the time: the CPU is the limit"),
        (12.0, "its threads are on the CPU 100 % of the time: the CPU is the limit"),
    ],
)
def test_threads_that_compute_nearly_always_are_the_limit(user_s: float, cause: str) -> None:
    made = shelf(FAST)
    made.add("pread+direct", {"bandwidth": 10e6, "user_s": user_s})
    assert cause in made.finding("bottleneck").says.replace("\u00a0", " ")


@pytest.mark.parametrize(
    ("figures", "wanted", "about", "share"),
    [
        # Of ten seconds by two threads: 4 + 3 + 2 - 1 of 20.
        ({"user_s": 4.0, "kernel_s": 3.0, "helper_s": 2.0, "wait_s": 1.0}, {"threads": 2}, {}, 0.4),
        ({"user_s": 4.0}, {"threads": None}, {}, 0.4),
        ({"user_s": 0.5}, {}, {"window": {"measured_s": 1.0}}, 0.5),
        ({}, {}, {}, None),
        ({"user_s": 4.0}, {}, {"window": {"measured_s": 0.0}}, None),
        ({"user_s": 4.0}, {}, {"window": {}}, None),
        ({"user_s": 4.0}, {}, {"window": None}, None),
    ],
)
def test_how_busy_threads_are(figures: Json, wanted: Json, about: Json, share: float | None) -> None:
    made = Shelf()
    made.add("pread+direct", {"bandwidth": 1e6, **figures}, about, **wanted)
    point = group.point(made.facts().rows, "bandwidth")
    assert point is not None
    found = utilisation(point)
    assert found == (None if share is None else pytest.approx(share))


def busy(made: Shelf, subject: str, cpu_s: float, utilised: float | None) -> str:
    """A database on two processors for two seconds: 10 MB moved in all, no flush."""
    figures = {"read_bytes": 4e6, "written_bytes": 6e6, "flushes": 0, "utilisation": utilised}
    device = {"device": "sda"} | {name: {"value": value} for name, value in figures.items()}
    name = made.work("database", subject, 400.0, cpu={"user_s": cpu_s}, change={"devices": [device]})
    record: Any = made.works[-1].record
    record["environment"]["cpu"]["usable"] = 2
    if utilised is None:
        record["devices"] = []
    return name


def test_what_a_database_waits_for_comes_first() -> None:
    made = Shelf()
    first = busy(made, "postgres", 1.0, 0.9)
    found = made.finding("bottleneck")
    waits = "postgres with tpcc keeps 2 CPUs 25 % and its drive 90 % of the time busy;"
    cause = "the drive is busy all the time: it is the limit"
    assert found.says.replace("\u00a0", " ") == f"{waits} {cause}."
    assert (found.outcome, found.gain, found.evidence[0].records) == ("depends", None, (first,))
    # No read of the records says what the drive gives at most.
    assert made.texts("bottleneck") == [
        f"postgres, tpcc: 25 % of 2 CPUs busy, its drive 90 % of the time, 5.00 MB/s moved; {cause}"
    ]


def test_what_a_database_moves_is_held_against_the_best_of_all_reads() -> None:
    made = shelf(SLOW, ("io_uring+direct", 50e6))
    made.add("pread", {"ops_rate": 5.0})
    busy(made, "postgres", 1.0, 0.9)
    found = made.finding("bottleneck")
    assert "5.00 MB/s moved (10 % of the best that these records show)" in made.texts("bottleneck")[0]
    assert " Of plain reads: pread direct uses 20 % of what" in found.says.replace("\u00a0", " ")
    assert found.gain is not None
    assert [one.records for one in found.evidence] == [("work-w0",), ("r0", "r1")]


def test_what_a_database_moves_is_held_against_nothing_where_no_read_has_a_bandwidth() -> None:
    made = Shelf()
    made.add("pread", {"ops_rate": 5.0})
    busy(made, "postgres", 1.0, 0.9)
    assert "5.00 MB/s moved;" in made.texts("bottleneck")[0]


def test_the_first_of_several_databases_is_in_the_sentence() -> None:
    made = Shelf()
    busy(made, "sqlite", 1.0, 0.5)
    busy(made, "postgres", 1.0, 0.9)
    found = made.finding("bottleneck")
    assert found.says.startswith("postgres with tpcc")
    assert len(found.evidence) == 2


def test_a_drive_that_nobody_watched_is_not_mentioned() -> None:
    made = Shelf()
    busy(made, "postgres", 1.0, None)
    says = made.finding("bottleneck").says.replace("\u00a0", " ")
    assert says.startswith("postgres with tpcc keeps 2 CPUs 25 % of the time busy; neither is the limit")
