"""Rules of places: file systems, stripes, and modules of persistent memory."""

from __future__ import annotations

from typing import Any

import pytest
from assay.untyped import Json

from advise.shelf import Shelf

RATED = {"kind": "fixed", "rate_per_s": 5.0}
MIX = [{"bytes": 4096, "weight": 1}, {"bytes": 8192, "weight": 1}]


def over(made: Shelf, system: str, bandwidth: float, about: Json | None = None, **wanted: Any) -> Shelf:
    systems = [{"file_system": {"kind": system}}]
    made.add("pread", {"bandwidth": bandwidth}, {"systems": systems} | (about or {}), **wanted)
    return made


def test_the_fastest_file_system_is_held_against_the_slowest() -> None:
    made = over(over(over(Shelf(), "xfs", 4e9), "btrfs", 1e9), "ext4", 3e9)
    found = made.finding("file-system")
    assert found.says == "xfs was fastest in 1 of 1 loads."
    assert made.ratio("file-system") == pytest.approx((4, 4 / 1.5, 6))
    assert made.texts("file-system") == ["raw, pread buffered: xfs 4.00 GB/s, btrfs 1.00 GB/s, ext4 3.00 GB/s"]
    assert found.evidence[0].records == ("r0", "r1", "r2")


def test_who_was_fastest_in_most_loads_is_said() -> None:
    made = Shelf()
    for size, rates in {4096: (1e9, 3e9), 8192: (1e9, 2e9), 16384: (4e9, 1e9)}.items():
        over(over(made, "xfs", rates[0], size=size), "ext4", rates[1], size=size)
    assert made.finding("file-system").says == "ext4 was fastest in 2 of 3 loads."
    assert made.ratio("file-system")[0] == pytest.approx(3)


@pytest.mark.parametrize(
    ("about", "name"),
    [
        ({"targets": [{"kind": "block-device"}]}, "none"),
        ({"targets": [{"kind": "folder"}, {"kind": "block-device"}]}, "none"),
        ({"targets": [{"twin": {"file_system": "zfs"}}]}, "zfs"),
        ({"targets": [{"twin": {"file_system": "zfs"}}, {"twin": {"file_system": "f2fs"}}]}, "zfs"),
        ({"targets": [{"twin": {}}]}, "none"),
        ({"targets": None, "systems": [{"file_system": {"kind": "zfs"}}]}, "zfs"),
        ({"systems": [{"file_system": {"kind": "zfs"}}, {"file_system": None}, {"file_system": {}}]}, "zfs"),
        ({"systems": [{"file_system": {"kind": "zfs"}}, {"file_system": {"kind": "f2fs"}}]}, "f2fs, zfs"),
    ],
)
def test_what_lies_beneath_a_record(about: Json, name: str) -> None:
    made = over(over(Shelf(), "", 1e9, about), "xfs", 2e9)
    assert made.texts("file-system") == [f"raw, pread buffered: {name} 1.00 GB/s, xfs 2.00 GB/s"]


@pytest.mark.parametrize(
    ("about", "wanted"),
    [({"systems": None}, {}), ({"systems": []}, {}), ({}, {"arrivals": RATED})],
)
def test_an_unknown_file_system_and_a_rate_are_no_evidence(about: Json, wanted: Json) -> None:
    assert over(over(Shelf(), "ext4", 1e9, about, **wanted), "xfs", 2e9, **wanted).found("file-system") is None


def test_one_file_system_and_a_load_without_a_bandwidth_are_no_evidence() -> None:
    made = over(Shelf(), "ext4", 1e9)
    assert made.found("file-system") is None
    made.add("pread", {"ops_rate": 1.0}, {"systems": [{"file_system": {"kind": "xfs"}}]})
    assert made.found("file-system") is None


def on(made: Shelf, drives: int, bandwidth: float, **wanted: Any) -> Shelf:
    targets = [{"kind": "folder", "members": [f"/srv/{number}" for number in range(drives)]}]
    made.add("pread", {"bandwidth": bandwidth}, {"targets": targets}, **wanted)
    return made


def test_one_drive_is_held_against_the_most_drives() -> None:
    made = on(on(on(Shelf(), 2, 3e9), 4, 6e9), 1, 2e9)
    found = made.finding("stripe")
    assert made.ratio("stripe") == pytest.approx((3, 2, 4.5))
    assert (found.says, found.outcome) == ("Every load gains.", "advised")
    assert made.texts("stripe") == ["raw, 4 KiB, 1 in flight: 2.00 GB/s on 1, 6.00 GB/s on 4"]
    assert found.evidence[0].records == ("r2", "r1")


def test_loads_that_differ_depend_and_the_largest_gain_is_shown() -> None:
    made = on(on(on(on(Shelf(), 1, 1e9), 4, 1e9), 1, 1e9, depth=8), 4, 3e9, depth=8)
    found = made.finding("stripe")
    assert found.outcome == "depends"
    assert found.says == "Loads that keep enough in flight gain; others wait as before."
    assert made.ratio("stripe")[0] == pytest.approx(3)
    same = on(on(on(on(Shelf(), 1, 1e9), 4, 2e9), 1, 1e9, depth=8), 4, 3e9, depth=8)
    assert same.finding("stripe").outcome == "advised"
    assert same.ratio("stripe")[0] == pytest.approx(3)


def test_a_mix_of_sizes_on_a_stripe_is_said_as_one() -> None:
    made = on(on(Shelf(), 1, 1e9, size=MIX), 4, 3e9, size=MIX)
    assert made.texts("stripe")[0].startswith("raw, mix of 4 KiB (1), 8 KiB (1), 1 in flight: ")


@pytest.mark.parametrize(
    ("targets", "drives"),
    [
        ([{"twin": {"label": "raid0:p4610*3"}}], 3),
        ([{"twin": {"label": "p4610*x"}}], 1),
        ([{"twin": {"label": "p4610"}}], 1),
        ([{"twin": {"label": "980"}}], 1),
        ([{"twin": {}}], 1),
        ([{"twin": None, "members": ["/a", "/b"]}], 2),
        ([{"members": None}], 1),
        ([{"members": ["/a", "/b"]}, {"members": ["/c"]}], 3),
        ([], 1),
        (None, 1),
    ],
)
def test_the_drives_of_a_target(targets: list[Json] | None, drives: int) -> None:
    made = on(Shelf(), 9, 9e9)
    made.add("pread", {"bandwidth": 3e9}, {"targets": targets})
    assert made.texts("stripe")[0].endswith(f"3.00 GB/s on {drives}, 9.00 GB/s on 9")


def test_one_number_of_drives_and_a_side_without_a_bandwidth_are_no_evidence() -> None:
    made = on(Shelf(), 4, 1e9)
    assert made.found("stripe") is None
    made.add("pread", {"ops_rate": 1.0}, {"targets": [{"members": ["/a"]}]})
    assert made.found("stripe") is None
    assert on(on(Shelf(), 1, 1e9, arrivals=RATED), 4, 2e9, arrivals=RATED).found("stripe") is None


def written(made: Shelf, rates: dict[int | None, float], about: Json | None = None, **wanted: Any) -> Shelf:
    for threads, bandwidth in rates.items():
        made.add("pmem", {"bandwidth": bandwidth}, about, **({"operation": "write", "threads": threads} | wanted))
    return made


RISING: dict[int | None, float] = {8: 3e9, 2: 4e9, None: 1e9}


def test_the_peak_is_held_against_the_most_threads() -> None:
    made = written(Shelf(), RISING)
    found = made.finding("cap-threads")
    assert found.says.replace("\u00a0", " ") == "2 threads reach the peak of 4.00 GB/s."
    assert made.ratio("cap-threads") == pytest.approx((4 / 3, 4 / 4.5, 2))
    assert found.gain is not None
    assert found.gain.metric == "the bandwidth of 8 threads"
    assert made.texts("cap-threads") == ["1 threads: 1.00 GB/s", "2 threads: 4.00 GB/s", "8 threads: 3.00 GB/s"]
    assert [one.records for one in found.evidence] == [("r2",), ("r1",), ("r0",)]


@pytest.mark.parametrize(
    "about", [{"provenance": "modelled"}, {"targets": [{"kind": "memory"}]}, {"targets": [{"kind": "memory"}, {}]}]
)
def test_a_stand_in_is_to_be_measured_again(about: Json) -> None:
    assert (
        written(Shelf(), RISING, about).finding("cap-threads").says.endswith("on modules of your own, measure again.")
    )


def test_targets_that_nobody_noted_are_no_stand_in() -> None:
    assert written(Shelf(), RISING, {"targets": None}).finding("cap-threads").says.endswith("GB/s.")


def test_one_measured_run_of_the_peak_is_enough() -> None:
    made = written(Shelf(), {1: 1e9, 8: 3e9})
    for origin in ("modelled", "measured"):
        written(made, {2: 4e9}, {"provenance": origin})
    assert made.finding("cap-threads").says.endswith("GB/s.")


def test_the_sweep_that_loses_most_by_its_last_threads_is_shown() -> None:
    # Lowest values and products of them would choose the other sweep.
    made = written(Shelf(), {1: 5e9, 2: 9e9, 8: 8e9}, size=8192)
    written(made, {1: 1e9, 2: 4e9, 8: 2e9})
    written(made, {1: 7e9, 2: 7e9, 8: 7e9}, size=256)
    assert made.ratio("cap-threads")[0] == pytest.approx(2)


@pytest.mark.parametrize(
    ("rates", "about", "wanted"),
    [
        ({1: 1e9, 2: 2e9}, {}, {}),
        (RISING, {}, {"operation": "read"}),
        (RISING, {}, {"operation": None}),
        (RISING, {"beside": [{"name": "scan"}]}, {}),
    ],
)
def test_two_points_reads_and_company_are_no_sweep(rates: dict[int | None, float], about: Json, wanted: Json) -> None:
    assert written(Shelf(), rates, about, **wanted).found("cap-threads") is None


def test_a_mix_is_a_sweep_and_another_path_is_none() -> None:
    mix = {"kind": "mix", "write_percent": 50}
    assert written(Shelf(), RISING, operation=mix).found("cap-threads") is not None
    made = written(Shelf(), {1: 1e9, 2: 2e9})
    made.add("pmem", {"ops_rate": 1.0}, operation="write", threads=3)
    assert made.found("cap-threads") is None
    for threads in (1, 2, 3):
        made.add("pread", {"bandwidth": 1e9}, operation="write", threads=threads)
    assert made.found("cap-threads") is None


def nodes(made: Shelf, latencies: dict[int, float], about: Json | None = None, **wanted: Any) -> Shelf:
    for size, mean in latencies.items():
        made.add("pmem", {"mean": mean}, about, size=size, **wanted)
    return made


def test_a_lookup_is_as_many_steps_as_the_tree_has_levels() -> None:
    # A billion records of 64 bytes: nodes of 4, 16, 64 and 128 records make trees of 15, 8, 5 and 5 levels.
    made = nodes(Shelf(), {4096: 1000.0, 1024: 300.0, 256: 200.0, 8192: 1500.0, 128: 1.0})
    found = made.finding("small-pages-dax")
    assert made.texts("small-pages-dax") == [
        "256 B: 200 ns a page, 3.00 us a lookup",
        "1 KiB: 300 ns a page, 2.40 us a lookup",
        "4 KiB: 1.00 us a page, 5.00 us a lookup",
        "8 KiB: 1.50 us a page, 7.50 us a lookup",
    ]
    assert made.ratio("small-pages-dax") == pytest.approx((7.5 / 2.4, 7.5 / 2.4 / 1.5, 7.5 / 2.4 * 1.5))
    assert found.gain is not None
    assert found.gain.metric.replace("\u00a0", " ") == "the lookups of 8 KiB nodes"
    assert found.says.startswith("Nodes of 1 KiB make")


def test_twenty_nine_levels_of_two_to_the_fifth() -> None:
    # log(1e9) / log(32) = 5.98, and log(2e9) / log(32) = 6.18.
    assert nodes(Shelf(), {2048: 100.0, 8192: 900.0}).texts("small-pages-dax")[0].endswith("600 ns a lookup")


def test_of_two_sizes_as_far_from_8_kib_the_smaller_stands_for_it() -> None:
    made = nodes(Shelf(), {1024: 300.0, 4096: 1000.0, 16384: 9000.0})
    assert made.ratio("small-pages-dax")[0] == pytest.approx(5.0 / 2.4)


def test_where_8_kib_are_best_nothing_is_gained() -> None:
    found = nodes(Shelf(), {256: 900.0, 8192: 1000.0}).finding("small-pages-dax")
    assert (found.says.replace("\u00a0", " "), found.outcome) == ("8 KiB nodes are best here.", "no gain here")
    assert (found.gain, len(found.evidence)) == (None, 2)


def test_the_sweep_of_most_sizes_counts() -> None:
    made = nodes(Shelf(), {1024: 100.0, 8192: 9000.0}, {"study": "short"})
    nodes(made, {1024: 300.0, 4096: 1000.0, 8192: 1500.0})
    assert made.ratio("small-pages-dax")[0] == pytest.approx(7.5 / 2.4)


@pytest.mark.parametrize(
    ("latencies", "wanted"),
    [
        ({}, {}),
        ({8192: 1.0}, {}),
        ({255: 1.0, 8192: 1.0}, {}),
        ({1024: 1.0, 8192: 9.0}, {"depth": 2}),
        ({1024: 1.0, 8192: 9.0}, {"operation": "write"}),
        ({1024: 1.0, 8192: 9.0}, {"pattern": "sequential"}),
    ],
)
def test_other_reads_and_one_size_are_no_nodes(latencies: dict[int, float], wanted: Json) -> None:
    assert nodes(Shelf(), latencies, **wanted).found("small-pages-dax") is None


def test_reads_of_a_drive_and_reads_without_a_latency_are_no_nodes() -> None:
    made = nodes(Shelf(), {8192: 9.0})
    made.add("pmem", {"bandwidth": 1.0}, size=1024)
    made.add("pread+direct", {"mean": 1.0}, size=1024)
    made.add("pread+direct", {"mean": 9.0}, size=8192)
    assert made.found("small-pages-dax") is None
