"""Intervals cover what they should, and never come from single operations."""

import numpy as np
import pytest
from assay.report import interval
from hypothesis import given
from hypothesis import strategies as st

VALUES = st.lists(st.floats(min_value=1, max_value=1e9), min_size=2, max_size=30)


@given(VALUES)
def test_an_interval_over_runs_lies_within_them_and_around_their_median(values: list[float]) -> None:
    found = interval.over_runs(values)
    assert found is not None
    assert min(values) <= found.low <= found.high <= max(values)
    assert found.low <= float(np.median(values)) * (1 + 1e-9)
    assert found.high >= float(np.median(values)) * (1 - 1e-9)


def test_one_run_has_no_interval_over_runs_and_few_have_their_range() -> None:
    assert interval.over_runs([3.0]) is None
    found = interval.over_runs([3.0, 1.0, 2.0])
    assert found is not None
    assert (found.low, found.high, found.is_range) == (1.0, 3.0, True)
    assert "3 runs" in found.kind
    enough = interval.over_runs([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert enough is not None
    assert not enough.is_range


@given(
    st.lists(st.floats(min_value=0.1, max_value=1e6), min_size=10, max_size=60), st.floats(min_value=1, max_value=1e6)
)
def test_an_interval_from_a_series_holds_the_figure_itself(values: list[float], point: float) -> None:
    found = interval.over_intervals(point, values, [1.0] * len(values))
    assert found is not None
    assert found.low <= point <= found.high


def test_a_short_series_gives_no_interval() -> None:
    assert interval.over_intervals(5.0, [5.0] * 9, [1.0] * 9) is None
    assert interval.over_intervals(5.0, [5.0] * 20, [0.0] * 20) is None


def test_intervals_are_the_same_at_every_reading() -> None:
    values = list(np.random.default_rng(3).normal(100, 5, 40))
    first, second = (interval.over_intervals(100.0, values, [1.0] * 40) for _ in range(2))
    assert first == second


def test_what_is_alike_in_time_widens_the_interval() -> None:
    """Ten levels of six intervals each know less than sixty intervals in random order."""
    random = np.random.default_rng(1)
    slow = list(np.repeat(random.normal(100, 10, 10), 6))
    mixed = list(random.permutation(slow))
    wide, narrow = (interval.over_intervals(100.0, values, [1.0] * 60) for values in (slow, mixed))
    assert wide is not None
    assert narrow is not None
    assert wide.high - wide.low > 1.2 * (narrow.high - narrow.low)


@pytest.mark.parametrize("runs", [6, 12])
def test_intervals_over_runs_hold_the_truth_most_of_the_time(runs: int) -> None:
    random = np.random.default_rng(7)
    held = 0
    for _ in range(100):
        found = interval.over_runs(list(random.normal(50, 4, runs)))
        assert found is not None
        held += found.low <= 50 <= found.high
    assert held >= 85
