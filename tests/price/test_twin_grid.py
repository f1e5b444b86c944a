"""The questions that a grid of a twin's latencies is made of, and what becomes of the answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from assay.executor.dispatch import Dispatcher
from assay.executor.work import Heard, Work
from assay.price.choose.latency import Ask, LatencyFigure
from assay.price.choose.twinned import (
    LOADS,
    SHARES,
    TwinCurve,
    TwinLatencies,
    collected_writes,
    curves,
    with_twin,
)  # fmt: skip
from assay.target import catalog
from assay.twin.predict import Point, stream
from assay.untyped import Json

from price.test_choose import machine
from price.test_plan import Noting, close


class Answering:
    """Answers the questions of a document in order: rates of 1000, 2000, ..., or means of 10, 20, ... ns."""

    size = 1
    here = True

    def __init__(self) -> None:
        self.documents: list[Json] = []

    def do(self, work: Work, orders: Sequence[Json], heard: Heard | None = None) -> list[Any]:
        """Each document once."""
        del work, heard
        self.documents += orders
        return [{"answers": [self._answer(number) for number in range(len(one["questions"]))]} for one in orders]

    def _answer(self, number: int) -> Json:
        # The bands of a curve are those of its first point.
        band = {"latency": 0.1 + number, "tail": 0.2 + number}
        first = {"ops_per_s": 1000.0 * (number + 1), "mean_ns": 10.0 * (number + 1), "band": band}
        return {"solution": {"streams": [first | {"p99": {"mid_ns": 30.0 * (number + 1)}}]}}


def load(percent: float, **more: Any) -> Json:
    point = Point(on="", size_bytes=8192, threads=256, depth=4, read_percent=percent)
    return stream(point, False) | more


def test_what_a_twin_does_at_most_is_asked_first_and_then_shares_of_it() -> None:
    executor = Answering()
    found = curves(["i4i-large", "i4i-xlarge"], 8192.0, Dispatcher(executor))
    most, loads = (one["questions"] for one in executor.documents)
    shares = [0.05, 0.25, 0.5, 0.75, 0.9, 1.0]
    assert [(one["target"], one["host"]) for one in most] == [(0, 0)] * 6 + [(1, 1)] * 6
    assert [one["streams"] for one in most] == [[load(100 * share)] for share in shares] * 2
    assert len(loads) == 2 * 6 * 8
    assert [one["target"] for one in loads] == [0] * 48 + [1] * 48
    # Of the second twin a quarter of reads was the eighth question: 8000 a second at most, and 0.7 of that is asked.
    reads, writes = loads[48 + 8 + 3]["streams"]
    assert reads == load(100, name="reads", rate_per_s=close(0.25 * 0.7 * 8000))
    assert writes == load(0, name="writes", rate_per_s=close(0.75 * 0.7 * 8000))
    rates = [sum(one["rate_per_s"] for one in question["streams"]) for question in loads[40:48]]
    assert rates == [close(6000 * share) for share in (0.02, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99)]
    assert [len(question["streams"]) for question in loads[32:48]] == [2] * 8 + [1] * 8, "reads alone have no writes"
    second = found["i4i-xlarge"]
    assert second.mean_ns[1][3] == 10.0 * (48 + 8 + 3 + 1)
    assert second.p99_ns[1][3] == 30.0 * (48 + 8 + 3 + 1)
    assert (second.band, second.tail_band) == (close(48.1), close(48.2))


GRID = [[100.0 * row + column for column in range(8)] for row in range(6)]


@pytest.mark.parametrize(
    ("share", "busy", "value"),
    [
        (0.05, 0.02, 0.0),
        (0.0, 0.0, 0.0),
        (0.25, 0.3, 101.0),
        (0.15, 0.3, 51.0),
        (0.25, 0.4, 101.5),
        (0.95, 0.97, 456.5),
        (1.0, 0.99, 507.0),
        (2.0, 2.0, 507.0),
    ],
)
def test_between_four_points_each_counts_by_its_nearness(share: float, busy: float, value: float) -> None:
    assert TwinCurve(GRID, GRID, 0.1, 0.2).at(GRID, share, busy) == pytest.approx(value, abs=1e-9)
    assert (len(SHARES), len(LOADS)) == (6, 8)


def test_a_twin_answers_and_is_asked_once() -> None:
    executor = Answering()
    latencies = TwinLatencies(["i4i-large", ""], 8192.0, Noting(), Dispatcher(executor))
    assert not executor.documents, "nobody asked yet"
    own = latencies.under(Ask("local", "i4i-large", False, 8192.0, 0.3, 0.25))
    # Of the twins by name gp3 comes first, then i4i-large: its point is the 48 + 8 + 1 + 1st.
    assert own == LatencyFigure(
        close(580.0), "modelled", "twin:i4i-large; 30% busy, 25% reads", None, close(1740.0), close(48.1), close(48.2)
    )
    volume = latencies.under(Ask("gp3", "", False, 8192.0, 0.3, 0.25))
    assert (volume.value_ns, volume.source) == (close(100.0), "twin:gp3; 30% busy, 25% reads")
    lent = latencies.under(Ask("local", "i4i-large", True, 8192.0, 0.3, 0.25))
    assert lent.source.startswith("twin:i4i-large at the same share of its IOPS, for want of its own; ")
    assert latencies.under(Ask("local", "", False, 8192.0, 0.3, 0.25)).source == "a twin", "who knew before"
    assert len(executor.documents) == 2
    assert len(executor.documents[0]["targets"]) == 3


@pytest.mark.parametrize(("drive", "device", "writes"), [(60e3, 90e3, 90e3), (60e3, 200e3, 100e3), (30e3, 200e3, 60e3)])
def test_collected_writes_are_the_least_of_drives_and_instance(drive: float, device: float, writes: float) -> None:
    # 409.6 MB/s in order, twice copied: 50 000 pages of 4 KiB a second and drive.
    figures = {
        "sustained_bytes_per_s": {"value": 409.6e6},
        "write_iops": {"value": drive},
        "collection": {"write_amplification": {"value": 2.0}},
    }
    assert collected_writes({"drive": figures, "drives": {"value": 2}, "write_iops": {"value": device}}) == writes


def test_an_instance_has_the_rates_of_its_own_twin() -> None:
    found = with_twin(machine("aws/i4i.large", cloud="aws"), catalog.twins())
    assert (found.twin, found.twin_lent, found.read_iops) == ("i4i-large", False, 54_990.0)
    assert found.write_iops == close(279.7e6 / 5.258 / 4096)
    assert found.source == "test; rates of local storage: twin:i4i-large, writes collected"


@pytest.mark.parametrize(
    ("name", "changes", "twin", "lent"),
    [
        ("gcp/z3", {"cloud": "gcp"}, "i4i-2xlarge", True),
        # A drive of that name is no instance.
        ("aws/p4800x", {"cloud": "aws"}, "i4i-2xlarge", True),
        ("aws/i4i.large", {"cloud": "aws", "local_bytes": 0.0}, "", False),
        ("own", {"cloud": "own"}, "", False),
    ],
)
def test_who_is_lent_a_twin(name: str, changes: Json, twin: str, lent: bool) -> None:
    candidate = machine(name, **changes)
    found = with_twin(candidate, catalog.twins())
    assert (found.twin, found.twin_lent, found.read_iops) == (twin, lent, candidate.read_iops)
