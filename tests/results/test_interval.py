"""Intervals cover what they should, and never come from single operations."""

import numpy as np
import pytest
from assay.results import interval
from hypothesis import given
from hypothesis import strategies as st

VALUES = st.lists(st.floats(min_value=1, max_value=1e9), min_size=2, max_size=30)


@given(VALUES)
def test_an_interval_over_runs_lies_around_their_median(values: list[float]) -> None:
    found = interval.over_runs(values)
    assert found is not None
    assert 0 < found.low <= found.high
    assert found.low <= float(np.median(values)) * (1 + 1e-9)
    assert found.high >= float(np.median(values)) * (1 - 1e-9)


def test_one_run_has_no_interval_over_runs_and_two_have_their_range() -> None:
    assert interval.over_runs([3.0]) is None
    found = interval.over_runs([3.0, 1.0])
    assert found is not None
    assert (found.low, found.high, found.is_range) == (1.0, 3.0, True)
    assert "2 runs" in found.kind
    enough = interval.over_runs([1.0, 2.0, 3.0])
    assert enough is not None
    assert not enough.is_range
    assert enough.low < 1.0, "three runs know little"
    assert enough.high > 3.0


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


@pytest.mark.parametrize("runs", [3, 5, 9, 12])
def test_intervals_over_runs_hold_the_truth_most_of_the_time(runs: int) -> None:
    random = np.random.default_rng(7)
    held = 0
    for _ in range(200):
        found = interval.over_runs(list(random.normal(50, 4, runs)))
        assert found is not None
        held += found.low <= 50 <= found.high
    assert held >= 180


def series(count: int, likeness: float, random: np.random.Generator) -> list[float]:
    """A first-order autoregressive series around 100 with a standard deviation of 5."""
    values = [random.normal()]
    for _ in range(count - 1):
        values.append(likeness * values[-1] + np.sqrt(1 - likeness**2) * random.normal())
    return [100 + 5 * value for value in values]


@pytest.mark.parametrize("likeness", [0.0, 0.2, 0.4, 0.6, 0.8])
@pytest.mark.parametrize("count", [10, 20, 50, 100])
def test_an_interval_within_a_run_covers_the_truth_whatever_neighbours_share(count: int, likeness: float) -> None:
    random = np.random.default_rng([count, int(likeness * 10)])
    held, runs = 0, 800
    for _ in range(runs):
        values = series(count, likeness, random)
        found = interval.over_intervals(float(np.mean(values)), values, [1.0] * count)
        assert found is not None
        held += found.low <= 100 <= found.high
    assert held >= 0.9 * runs, f"{held / runs:.1%}"


def test_many_alike_values_do_not_make_an_interval_useless() -> None:
    values = list(np.random.default_rng(5).normal(100, 5, 100))
    found = interval.over_intervals(100.0, values, [1.0] * 100)
    assert found is not None
    assert 1.5 < found.high - found.low < 3.5, "independent values: 2 * 1.98 * 5 / 10 is right"
    assert "another run" in found.kind, "what one run cannot know is said"


def test_ten_runs_are_drawn_from_anew_and_nine_are_not() -> None:
    values = [1.0, 1.1, 1.3, 1.6, 2.0, 2.5, 3.1, 3.8, 4.6, 5.5]
    for runs, drawn in [(9, False), (10, True)]:
        found, student = interval.over_runs(values[:runs]), interval._student(values[:runs])
        assert found is not None
        assert ((found.low, found.high) != student) == drawn


GAPS = st.lists(
    st.tuples(st.floats(min_value=1, max_value=1e6), st.floats(min_value=0, max_value=1e6)), min_size=2, max_size=15
)


@given(GAPS)
def test_a_percentile_over_runs_never_reaches_below_the_interval_of_its_median(runs: list[tuple[float, float]]) -> None:
    floors = [floor for floor, _ in runs]
    values = [floor + gap for floor, gap in runs]
    found, under = interval.over_runs_above(values, floors), interval.over_runs(floors)
    assert found is not None
    assert under is not None
    assert under.low * (1 - 1e-9) <= found.low <= float(np.median(values)) * (1 + 1e-9)
    assert found.high * (1 + 1e-9) >= float(np.median(values))


def test_a_p99_of_three_runs_whose_tails_scatter_stays_above_their_steady_median() -> None:
    """61.6 us at the median and 152 us at p99 came with 51 to 661 us for the latter."""
    medians, tails = [61.0e3, 61.6e3, 62.3e3], [130e3, 152e3, 310e3]
    plain, found = interval.over_runs(tails), interval.over_runs_above(tails, medians)
    assert plain is not None
    assert found is not None
    assert plain.low < 61.6e3, "what Student's t of the percentile alone says"
    assert 61.6e3 < found.low < 152e3 < 310e3 < found.high
    assert found.kind == plain.kind


@pytest.mark.parametrize("runs", [3, 5, 9, 12])
def test_percentiles_above_a_floor_are_held_as_often_as_promised(runs: int) -> None:
    random = np.random.default_rng([11, runs])
    held = 0
    for _ in range(400):
        floors = 60 * np.exp(random.normal(0, 0.03, runs))
        gaps = 90 * np.exp(random.normal(0, 0.5, runs))
        found = interval.over_runs_above(list(floors + gaps), list(floors))
        assert found is not None
        held += found.low <= 150 <= found.high
    assert held >= 0.9 * 400, f"{held / 400:.1%}"


def test_a_percentile_within_a_run_stays_above_the_median_of_that_run() -> None:
    random = np.random.default_rng(17)
    floors = list(60 + random.normal(0, 1, 20))
    values = [floor + gap for floor, gap in zip(floors, np.repeat([5, 900], [17, 3]), strict=True)]
    weights = [1.0] * 20
    plain = interval.over_intervals(90.0, values, weights)
    found = interval.over_intervals_above(90.0, values, 60.0, floors, weights)
    assert plain is not None
    assert found is not None
    assert plain.low < 55, "what the series of the percentile alone says"
    assert 58 < found.low <= 90 < found.high
