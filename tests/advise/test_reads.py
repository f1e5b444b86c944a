"""Rules of reads: how many in flight, from which cache, of which size, by which calls."""

from __future__ import annotations

from typing import Any

import pytest
from assay.untyped import Json

from advise.shelf import Shelf

RATED = {"kind": "fixed", "rate_per_s": 5.0}
MIX = [{"bytes": 4096, "weight": 1}, {"bytes": 8192, "weight": 1}]


def curve(made: Shelf, points: dict[int, float], path: str = "io_uring+direct", **about: Any) -> Shelf:
    for depth, rate in points.items():
        made.add(path, {"ops_rate": rate, "p99": 1e5 * depth}, about, depth=depth)
    return made


def test_the_knee_is_the_smallest_load_that_gives_nine_tenths() -> None:
    made = curve(Shelf(), {1: 10e3, 4: 89e3, 8: 90e3, 16: 100e3})
    found = made.finding("reads-in-flight")
    assert "8 in flight are enough here" in found.says
    assert made.ratio("reads-in-flight") == pytest.approx((9, 6, 13.5))
    assert made.texts("reads-in-flight") == [
        "io_uring direct: 10 000 reads/s one at a time, 90 000 with 8 in flight; p99 100 us and 800 us"
    ]
    assert found.evidence[0].records == ("r0", "r2")
    assert found.trial is not None
    assert (found.trial.a, found.trial.b) == ({"depth": 1}, {"depth": 8})


@pytest.mark.parametrize("missing", [1, 8])
def test_waits_are_said_where_both_are_known(missing: int) -> None:
    made = Shelf()
    for depth, rate in ((1, 1e3), (8, 8e3)):
        made.add("io_uring+direct", {"ops_rate": rate} | ({} if depth == missing else {"p99": 1e5}), depth=depth)
    assert made.texts("reads-in-flight") == ["io_uring direct: 1 000 reads/s one at a time, 8 000 with 8 in flight"]


def test_two_points_from_one_read_in_flight_are_a_curve() -> None:
    assert curve(Shelf(), {1: 10e3, 2: 20e3}).ratio("reads-in-flight")[0] == pytest.approx(2)
    assert curve(Shelf(), {1: 10e3}).found("reads-in-flight") is None
    assert curve(Shelf(), {2: 20e3, 4: 40e3}).found("reads-in-flight") is None
    assert Shelf().found("reads-in-flight") is None


def test_a_load_without_a_rate_is_no_point() -> None:
    made = curve(Shelf(), {1: 10e3, 4: 40e3})
    made.add("io_uring+direct", {"p99": 1.0}, depth=2)
    assert made.ratio("reads-in-flight")[0] == pytest.approx(4)


def test_the_curve_that_reaches_most_is_shown() -> None:
    # The other one begins higher, and its lowest point is the higher one.
    made = curve(curve(Shelf(), {1: 30e3, 8: 40e3}, "libaio+direct"), {1: 10e3, 8: 80e3})
    assert made.ratio("reads-in-flight")[0] == pytest.approx(8)


@pytest.mark.parametrize(
    ("wanted", "about"), [({"arrivals": RATED}, {}), ({"pattern": "sequential"}, {}), ({}, {"cache": "warm"})]
)
def test_other_reads_are_no_point_reads(wanted: Json, about: Json) -> None:
    made = Shelf()
    for depth in (1, 8):
        made.add("io_uring+direct", {"ops_rate": 1e3 * depth}, about, depth=depth, **wanted)
    assert made.found("reads-in-flight") is None


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("libaio+direct", [{"depth": 1}, {"depth": 8}]),
        # Two threads, one read each, are two in flight: nothing that the study of depths could run.
        ("io_uring+direct", [{"depth": None}, {"threads": 2, "depth": None}]),
        ("io_uring+direct", [{"depth": 1}, {"threads": 2, "depth": 1}]),
    ],
)
def test_what_the_study_of_depths_does_not_vary_is_not_tried(path: str, wanted: list[Json]) -> None:
    made = Shelf()
    for rate, asks in zip((1e3, 8e3), wanted, strict=True):
        made.add(path, {"ops_rate": rate}, **asks)
    assert made.finding("reads-in-flight").trial is None


def test_a_depth_of_two_can_be_tried() -> None:
    found = curve(Shelf(), {1: 1e3, 2: 2e3}).finding("reads-in-flight")
    assert found.trial is not None
    assert found.trial.b == {"depth": 2}


def cached(made: Shelf, warm: float | None, device: float | None, **wanted: Any) -> Shelf:
    if device is not None:
        made.add("pread+direct", {"p50": device}, **wanted)
    if warm is not None:
        made.add("pread", {"p50": warm}, {"cache": "warm"}, **wanted)
    return made


def test_a_warm_read_is_held_against_one_from_the_device() -> None:
    made = cached(Shelf(), 1e3, 80e3, size=8192)
    found = made.finding("hot-in-dram")
    assert made.ratio("hot-in-dram") == pytest.approx((80, 80 / 1.5, 120))
    assert made.texts("hot-in-dram") == ["8 KiB: 1.00 us from a warm cache, 80.0 us from the device"]
    assert "--in DIR --page 8KiB" in found.says
    assert found.evidence[0].records == ("r0", "r1")


def test_several_settings_name_the_page_of_the_first() -> None:
    made = cached(cached(Shelf(), 1e3, 80e3), 2e3, 90e3, size=8192)
    assert "--page 4KiB" in made.finding("hot-in-dram").says
    assert len(made.texts("hot-in-dram")) == 2


@pytest.mark.parametrize(
    ("warm", "device", "wanted"),
    [
        (None, None, {}),
        (1e3, None, {}),
        (None, 80e3, {}),
        (1e3, 80e3, {"depth": 2}),
        (1e3, 80e3, {"operation": "write"}),
        (1e3, 80e3, {"size": MIX}),
    ],
)
def test_one_side_alone_or_reads_that_wait_for_others_are_no_evidence(
    warm: float | None, device: float | None, wanted: Json
) -> None:
    assert cached(Shelf(), warm, device, **wanted).found("hot-in-dram") is None


def test_a_cold_cache_and_a_warm_mapping_are_neither_side() -> None:
    made = Shelf()
    made.add("mmap", {"p50": 100.0}, {"cache": "warm"})
    made.add("pread", {"p50": 90e3}, {"cache": "cold"})
    assert made.found("hot-in-dram") is None
    assert cached(made, 1e3, 80e3).ratio("hot-in-dram")[0] == pytest.approx(80)


def pages(made: Shelf, points: dict[int, tuple[float, float]], **wanted: Any) -> Shelf:
    for size, (bandwidth, p50) in points.items():
        made.add("io_uring+direct", {"bandwidth": bandwidth} | ({"p50": p50} if p50 else {}), size=size, **wanted)
    return made


KIB = 1024


def test_the_smallest_page_with_nine_tenths_of_the_best_bandwidth() -> None:
    points = {4: (1e9, 80e3), 8: (2e9, 90e3), 16: (3.6e9, 120e3), 256: (4e9, 900e3), 2: (8e9, 70e3)}
    made = pages(Shelf(), {size * KIB: point for size, point in points.items()} | {256 * KIB + 1: (9e9, 2e6)})
    found = made.finding("page-size")
    assert found.says.replace("\u00a0", " ") == (
        "16 KiB pages give 3.6x the bandwidth of 4 KiB pages. A read then takes 1.5x as long. Where scans matter, take"
        " 16 KiB; where single records are read, stay small."
    )
    assert found.outcome == "depends"
    assert made.ratio("page-size") == pytest.approx((3.6, 2.4, 5.4))
    assert made.texts("page-size") == [
        "4 KiB: 1.00 GB/s, 80.0 us at the median",
        "8 KiB: 2.00 GB/s, 90.0 us at the median",
        "16 KiB: 3.60 GB/s, 120 us at the median",
        "256 KiB: 4.00 GB/s, 900 us at the median",
    ]
    assert found.trial is not None
    assert (found.trial.a, found.trial.b) == ({"page": "4KiB"}, {"page": "16KiB"})
    assert found.trial.settings["depth"] == 32


def test_where_small_pages_give_nearly_all_the_next_size_is_shown() -> None:
    made = pages(Shelf(), {4096: (1e9, 0), 8192: (1.05e9, 0), 16384: (1.1e9, 0)})
    found = made.finding("page-size")
    assert (
        found.says == "The intervals of these reads overlap: 8 KiB pages are not shown to give more than 4 KiB pages."
    )
    assert found.outcome == "undecided"
    assert found.evidence[0].text.replace("\u00a0", " ") == "4 KiB: 1.00 GB/s, 0 ns at the median"


def test_no_wait_is_said_where_none_was_measured() -> None:
    made = pages(Shelf(), {4096: (1e9, 0), 8192: (2e9, 0)})
    assert (
        made.finding("page-size")
        .says.replace("\u00a0", " ")
        .startswith("8 KiB pages give 2.0x the bandwidth of 4 KiB pages. Where scans")
    )


def test_a_sweep_begins_at_4_kib_and_has_two_sizes() -> None:
    assert Shelf().found("page-size") is None
    assert pages(Shelf(), {4096: (1e9, 0)}).found("page-size") is None
    assert pages(Shelf(), {8192: (1e9, 0), 16384: (2e9, 0)}).found("page-size") is None
    silent = pages(Shelf(), {4096: (1e9, 0)})
    silent.add("io_uring+direct", {"p50": 1.0}, size=8192)
    assert silent.found("page-size") is None


def test_the_sweep_with_most_in_flight_counts_and_of_those_the_longest() -> None:
    made = pages(Shelf(), {4096: (1e9, 0), 8192: (2e9, 0), 16384: (2e9, 0)})
    made = pages(made, {4096: (1e9, 0), 8192: (3e9, 0)}, depth=4)
    assert made.ratio("page-size")[0] == pytest.approx(3)
    made = pages(made, {4096: (1e9, 0), 8192: (4e9, 0), 16384: (4e9, 0)}, threads=4)
    assert made.ratio("page-size")[0] == pytest.approx(4)


@pytest.mark.parametrize("wanted", [{"pattern": "sequential"}, {"operation": "write"}, {"arrivals": RATED}])
def test_other_reads_say_nothing_of_pages(wanted: Json) -> None:
    assert pages(Shelf(), {4096: (1e9, 0), 8192: (2e9, 0)}, **wanted).found("page-size") is None


def test_reads_through_the_page_cache_say_nothing_of_pages() -> None:
    made = Shelf()
    for size in (4096, 8192):
        made.add("pread", {"bandwidth": 1e5 * size}, size=size)
    assert made.found("page-size") is None
