"""Intervals beside values worked out by hand, so that a factor in a formula is noticed."""

import math

import numpy as np
import pytest
from assay.results import bound, interval
from assay.results.interval import Interval


def close(value: float) -> object:
    return pytest.approx(value, rel=1e-4)


def reach(values: list[float]) -> float:
    """Half of the interval around a figure of 100."""
    found = interval.over_intervals(100.0, values, [1.0] * len(values))
    assert found is not None
    assert found.high - 100 == close(100 - found.low)
    return found.high - 100


def test_three_runs_have_students_interval_of_their_logarithms() -> None:
    """ln 2 +- 4.30265 ln 2 / sqrt 3."""
    found = interval.over_runs([1.0, 2.0, 4.0])
    assert found == Interval(close(0.357462), close(11.19001), "95 % over 3 runs")  # type: ignore[arg-type]


def test_runs_that_are_all_alike_or_nothing_have_their_range() -> None:
    assert interval.over_runs([3.0, 3.0, 3.0]) == Interval(3.0, 3.0, "range of 3 runs")
    assert interval.over_runs([0.0, 1.0, 2.0]) == Interval(0.0, 2.0, "range of 3 runs")
    assert interval.over_runs([1.0, 2.0]) == Interval(1.0, 2.0, "range of 2 runs")
    assert interval.over_runs([]) is None


def test_an_interval_of_many_runs_is_the_same_on_all_machines() -> None:
    """What the seed gives; another one is another result of everybody's."""
    found = interval.over_runs([1.0, 1.1, 1.3, 1.6, 2.0, 2.5, 3.1, 3.8, 4.6, 5.5])
    assert found is not None
    assert (found.low, found.high) == (close(1.3), close(3.85))


def test_neighbours_that_alternate_know_as_much_as_independent_ones() -> None:
    """Twenty values of 99 and 101: variance 20 / 19, t = 2.09302 with 19 degrees of freedom."""
    assert reach([99.0, 101.0] * 10) == close(2.093024 * math.sqrt(20 / 19 / 20))


def test_a_level_that_changes_once_is_worth_two_values() -> None:
    """The correlation is cut at 0.9: 20 values of 11.09419 times the variance, 1.5 degrees of freedom at least."""
    variance = 20 / (20 - 11.09419)
    assert reach([99.0] * 10 + [101.0] * 10) == close(6.016663 * math.sqrt(variance * 11.09419 / 20))


def test_pairs_that_are_alike_are_worth_less_than_their_number() -> None:
    """A correlation of 0.05 as seen, 0.11 without its bias, 0.248906 with its doubt: 1.618662 times the variance."""
    variance = 20 / (20 - 1.618662)
    assert reach([99.0, 99.0, 101.0, 101.0] * 5) == close(2.192599 * math.sqrt(variance * 1.618662 / 20))


def test_a_series_of_one_value_has_no_width_and_a_wild_one_ends_at_zero() -> None:
    assert reach([5.0] * 10) == 0.0
    found = interval.over_intervals(100.0, [0.0] * 9 + [1000.0], [1.0] * 10)
    assert found is not None
    assert found.low == 0.0
    assert found.high > 200


def test_weights_and_what_is_no_number() -> None:
    values = [99.0, 101.0] * 10
    plain = interval.over_intervals(100.0, values, [1.0] * 20)
    holes = interval.over_intervals(100.0, [*values, math.nan, 5.0], [1.0] * 21 + [0.0])
    assert holes == plain
    heavy = interval.over_intervals(100.0, values, [1.0, 3.0] * 10)
    assert heavy is not None
    assert plain is not None
    assert heavy.high > plain.high, "around a mean of 100.5 the values lie further"


@pytest.mark.parametrize(
    ("point", "values"),
    [(0.0, [1.0] * 10), (-1.0, [1.0] * 10), (1.0, [1.0] * 9), (1.0, [0.0] * 10), (1.0, [-1.0] * 10)],
)
def test_no_interval_around_nothing(point: float, values: list[float]) -> None:
    assert interval.over_intervals(point, values, [1.0] * len(values)) is None


def test_a_sum_of_a_floor_and_a_gap_has_the_distances_of_both_added_as_errors_are() -> None:
    floors, gaps = [1.0, 1.1, 1.2], [1.0, 1.3, 1.1]
    values = [floor + gap for floor, gap in zip(floors, gaps, strict=True)]
    found, under, over = interval.over_runs_above(values, floors), interval.over_runs(floors), interval.over_runs(gaps)
    assert found is not None
    assert under is not None
    assert over is not None
    low = 2.3 - math.hypot(1.1 - under.low, 1.1 - over.low)
    assert found.low == close(max(low, under.low + over.low))
    assert found.high == close(2.3 + math.hypot(under.high - 1.1, over.high - 1.1))
    assert found.low > under.low + over.low, "both are seldom low together"


def test_a_gap_of_nothing_keeps_the_plain_interval_above_the_floor() -> None:
    floors = [1.9, 2.0, 2.1]
    found, plain = interval.over_runs_above([1.9, 2.0, 20.0], floors), interval.over_runs([1.9, 2.0, 20.0])
    under = interval.over_runs(floors)
    assert found is not None
    assert plain is not None
    assert under is not None
    assert plain.low < under.low
    assert (found.low, found.high) == (close(under.low), close(plain.high))
    assert interval.over_runs_above([3.0], [1.0]) is None
    assert interval.over_runs_above([3.0, 4.0], [1.0, 1.0]) == interval.over_runs([3.0, 4.0])


def test_a_figure_of_a_series_above_another_one() -> None:
    floors, gaps = [99.0, 101.0] * 10, [9.0, 9.0, 11.0, 11.0] * 5
    values = [floor + gap for floor, gap in zip(floors, gaps, strict=True)]
    weights = [1.0] * 20
    found = interval.over_intervals_above(110.0, values, 100.0, floors, weights)
    under, over = interval.over_intervals(100.0, floors, weights), interval.over_intervals(10.0, gaps, weights)
    assert found is not None
    assert under is not None
    assert over is not None
    assert found.low == close(110 - math.hypot(100 - under.low, 10 - over.low))
    assert found.high == close(110 + math.hypot(under.high - 100, over.high - 10))
    assert interval.over_intervals_above(110.0, values[:9], 100.0, floors[:9], weights[:9]) is None


def test_a_ratio_has_the_widest_bounds_that_both_sides_allow() -> None:
    sides = Interval(2.0, 4.0, ""), Interval(1.0, 2.0, "")
    assert interval.ratio(*sides, 2.0, lambda value: f"{value:.1f}") == "2.0 (1.0 to 4.0)"
    assert interval.ratio(*sides, 2.0, lambda _: "twice") == "twice"
    assert interval.ratio(None, sides[1], 2.0, str) == "2.0"
    assert interval.ratio(sides[0], None, 2.0, str) == "2.0"
    assert interval.ratio(sides[0], Interval(0.0, 1.0, ""), 2.0, str) == "2.0"


def test_only_what_reaches_the_bound_is_at_least() -> None:
    latency = {"mean_ns": 10.0, "p50_ns": 10.0, "p99_ns": 2000.0, "max_ns": 5.0, "at_least": {"from_ns": 2000.0}}
    assert [bound.at_least(latency, name) for name in ("mean_ns", "max_ns", "p50_ns", "p99_ns", "p90_ns")] == [
        True,
        True,
        False,
        True,
        False,
    ]
    assert bound.time(latency, "p99_ns").startswith("\u2265 ")
    assert not bound.time(latency, "p50_ns").startswith("\u2265")
    assert not bound.at_least({"p99_ns": 5.0}, "p99_ns")
    assert not bound.at_least({"mean_ns": 5.0, "at_least": None}, "mean_ns")
    assert bound.time({}, "p99_ns").startswith("0")


def test_the_kind_of_an_interval_says_whether_it_is_a_range() -> None:
    assert Interval(1.0, 2.0, "range of 2 runs").is_range
    assert not Interval(1.0, 2.0, "95 % over 3 runs").is_range
    assert np.isfinite(interval.LEVEL)
