"""Workloads: what they may say, and which share of reads memory serves."""

from __future__ import annotations

from typing import Any

import pytest
from assay.price.choose.workload import Latency, Workload
from pydantic import ValidationError

from price.test_plan import close

LEAST: dict[str, Any] = {"capacity": 100.0, "reads_per_s": 1.0, "durability": "local"}


def of(**more: Any) -> Workload:
    return Workload.model_validate(LEAST | more)


@pytest.mark.parametrize(
    "more",
    [
        {"durability": "replicated", "copies": 2},
        {"durability": "replicated", "copies": 3},
        {"working_set": 100.0},
        {"reads_per_s": 0.0, "writes_per_s": 0.5},
        {"reads_per_s": 0.5, "writes_per_s": 0.5},
        {"cycles_per_operation": 1.0, "clock": 1.0},
        {"hits": [{"memory": 1.0, "hit_ratio": 0.0}, {"memory": 2.0, "hit_ratio": 1.0}]},
        {"latency": {"read": 1.0}},
        {"latency": {"p99": 1.0}},
    ],
)
def test_what_a_workload_may_say(more: dict[str, Any]) -> None:
    assert of(**more).capacity == 100.0


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"durability": "replicated"}, "at least two copies"),
        ({"copies": 2}, "copies are for"),
        ({"copies": 3}, "copies are for"),
        ({"copies": 0}, "greater than 0"),
        ({"working_set": 100.1}, "larger than the data"),
        ({"reads_per_s": 0.0}, "reads or writes"),
        ({"clock": 1.0}, "belong together"),
        ({"hits": [{"memory": 2.0, "hit_ratio": 0.1}, {"memory": 1.0, "hit_ratio": 0.2}]}, "rise with memory"),
        ({"hits": [{"memory": 1.0, "hit_ratio": -0.1}]}, "greater than or equal to 0"),
        ({"hits": [{"memory": 1.0, "hit_ratio": 1.1}]}, "less than or equal to 1"),
        ({"latency": {}}, "an objective needs a bound"),
    ],
)
def test_what_a_workload_may_not_say(more: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence):
        of(**more)


def test_an_objective_has_one_bound_at_least() -> None:
    assert Latency.model_validate({"read": 1.0, "p99": 2.0}).p99 == 2.0


@pytest.mark.parametrize(
    ("working_set", "cache", "hits"),
    [
        (None, 25.0, 0.25),
        (50.0, 25.0, 0.5),
        (50.0, 75.0, 1.0),
        (50.0, 0.0, 0.0),
        (0.0, 0.0, 1.0),
        (1.0, 0.5, 0.5),
    ],
)
def test_memory_serves_its_share_of_what_is_touched(working_set: float | None, cache: float, hits: float) -> None:
    assert of(working_set=working_set).hit_ratio(cache) == hits


@pytest.mark.parametrize(
    ("memory", "hits"), [(0.0, 0.0), (5.0, 0.2), (10.0, 0.4), (15.0, 0.6), (20.0, 0.8), (25.0, 0.85), (30.0, 0.9)]
)
def test_a_curve_is_straight_between_its_points(memory: float, hits: float) -> None:
    points = [{"memory": at, "hit_ratio": share} for at, share in ((10, 0.4), (20, 0.8), (30, 0.9))]
    assert of(hits=points).hit_ratio(memory) == close(hits)
    assert of(hits=points).hit_ratio(99.0) == 0.9


def test_a_curve_may_begin_at_nothing_and_may_have_a_step() -> None:
    points = [{"memory": at, "hit_ratio": share} for at, share in ((0, 0.1), (10, 0.3), (10, 0.7))]
    assert [of(hits=points).hit_ratio(memory) for memory in (0.0, 5.0, 10.0)] == [0.1, close(0.2), 0.7]
