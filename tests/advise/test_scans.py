"""Scans by calls that wait and by calls that do not."""

from __future__ import annotations

from typing import Any

import pytest
from assay.untyped import Json

from advise.shelf import Shelf


def scans(*paths: tuple[str, float], made: Shelf | None = None, about: Json | None = None, **wanted: Any) -> Shelf:
    made = made or Shelf()
    for path, bandwidth in paths:
        made.add(path, {"bandwidth": bandwidth}, about, **({"pattern": "sequential", "size": 65536} | wanted))
    return made


WAITING, QUEUED = ("pread", 1e9), ("io_uring+direct", 4e9)


def test_the_best_that_waits_is_held_against_the_best_that_does_not() -> None:
    others = (("mmap", 0.5e9), ("pread+direct", 9e9), ("io_uring", 9e9), ("libaio+direct", 3e9))
    made = scans(WAITING, QUEUED, *others)
    found = made.finding("scan-direct-async")
    assert made.ratio("scan-direct-async") == pytest.approx((4, 4 / 1.5, 6))
    assert made.texts("scan-direct-async") == ["64 KiB at a time: pread buffered 1.00 GB/s, io_uring direct 4.00 GB/s"]
    assert found.evidence[0].records == ("r0", "r1")
    assert found.trial is not None
    assert found.trial.b == {"path": "io_uring, O_DIRECT"}


def test_a_scan_by_libaio_is_tried_by_libaio() -> None:
    made = scans(("mmap", 1e9), ("libaio+direct", 3e9))
    trial = made.finding("scan-direct-async").trial
    assert trial is not None
    assert trial.b == {"path": "libaio, O_DIRECT"}
    assert made.ratio("scan-direct-async")[0] == pytest.approx(3)


def test_the_first_of_several_settings_says_what_is_tried() -> None:
    made = scans(WAITING, ("libaio+direct", 3e9))
    made = scans(WAITING, QUEUED, made=made, size=4096)
    trial = made.finding("scan-direct-async").trial
    assert trial is not None
    assert trial.b == {"path": "libaio, O_DIRECT"}


@pytest.mark.parametrize(
    ("paths", "about", "wanted"),
    [
        ([], {}, {}),
        ([WAITING], {}, {}),
        ([QUEUED], {}, {}),
        ([WAITING, QUEUED], {"cache": "warm"}, {}),
        ([WAITING, QUEUED], {}, {"pattern": "uniform"}),
        ([WAITING, QUEUED], {}, {"operation": "write"}),
    ],
)
def test_other_reads_and_one_side_alone_are_no_evidence(
    paths: list[tuple[str, float]], about: Json, wanted: Json
) -> None:
    assert scans(*paths, about=about, **wanted).found("scan-direct-async") is None


def test_a_scan_without_a_bandwidth_is_no_side() -> None:
    made = scans(WAITING)
    made.add("io_uring+direct", {"ops_rate": 5.0}, pattern="sequential", size=65536)
    assert made.found("scan-direct-async") is None


@pytest.mark.parametrize(
    ("cycles", "tail"),
    [
        ((0.5, 0.25), ", at 0.500 and 0.250 cycles/byte"),
        ((0.5, None), ""),
        ((None, 0.25), ""),
    ],
)
def test_cycles_are_said_where_both_are_known(cycles: tuple[float | None, float | None], tail: str) -> None:
    made = Shelf()
    for (path, bandwidth), each in zip((WAITING, QUEUED), cycles, strict=True):
        counted = {} if each is None else {"cycles_per_byte": each}
        made.add(path, {"bandwidth": bandwidth, **counted}, pattern="sequential", size=65536)
    assert made.texts("scan-direct-async")[0].endswith(f"io_uring direct 4.00 GB/s{tail}")
