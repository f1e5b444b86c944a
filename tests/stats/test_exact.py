"""Statistics beside values worked out by hand, or printed in tables, so that a factor of two is noticed."""

import math

import numpy as np
import pytest
from assay.stats import bootstrap, correction, need, signed_rank, spread, walsh, welch

LN2 = math.log(2)


def close(value: float) -> object:
    return pytest.approx(value, rel=1e-4)


# Quantiles of Student's t and of the normal distribution are those of any printed table.


@pytest.mark.parametrize(
    ("pairs", "level", "share"),
    [(1, 0.05, 0.0), (2, 0.05, 0.0), (6, 0.05, 0.002430), (10, 0.05, 0.008551), (10, 0.1, 0.026662)],
)
def test_the_tails_of_the_bootstrap_are_as_wide_as_students(pairs: int, level: float, share: float) -> None:
    assert bootstrap.tail(pairs, level) == pytest.approx(share, rel=1e-3, abs=1e-30)


def test_a_median_of_pairs_has_an_interval_of_its_resampled_medians() -> None:
    values = np.array([-0.3, -0.1, 0.0, 0.05, 0.1, 0.2, 0.25, 0.3, 0.7, 0.9])
    plain, blocks = bootstrap.median_interval(values), bootstrap.median_interval(values, block=3)
    narrow = bootstrap.median_interval(values, level=0.2)
    medians = np.median(values[bootstrap.drawn(10, 1)], axis=1)
    low, high = np.quantile(medians, (bootstrap.tail(10), 1 - bootstrap.tail(10)))
    assert (plain.low, plain.high) == (close(float(low)), close(float(high)))
    assert blocks.low < plain.low, "three blocks know less than ten pairs"
    assert plain.low < narrow.low
    assert narrow.high <= plain.high
    assert plain.holds(plain.low)
    assert plain.holds(plain.high)
    assert not plain.holds(plain.high + 1e-9)


def test_blocks_are_neighbours_around_the_circle() -> None:
    drawn = bootstrap.drawn(7, 3)
    assert drawn.shape == (bootstrap.RESAMPLES, 7)
    assert set(np.unique(drawn)) == set(range(7))
    assert (drawn[:, 1] == (drawn[:, 0] + 1) % 7).all()
    assert (drawn[:, 5] == (drawn[:, 3] + 2) % 7).all()
    assert not (drawn[:, 3] == (drawn[:, 2] + 1) % 7).all(), "each block is drawn by itself"
    starts = np.random.default_rng(bootstrap._SEED).integers(0, 7, size=(bootstrap.RESAMPLES, 3, 1))
    assert (drawn[:, ::3] == starts[:, :, 0]).all(), "no more blocks are drawn than are used"


def test_an_interval_of_a_median_is_the_same_on_all_machines() -> None:
    """What the seed gives; another one, or another number of resamples, is another result of everybody's."""
    found = bootstrap.median_interval(np.arange(12) ** 2 / 100.0)
    assert (found.low, found.high) == (close(0.04), close(0.81))


def test_many_comparisons_are_corrected_as_holm_and_as_benjamini_and_hochberg_do() -> None:
    chances = [0.01, 0.04, 0.03, 0.005]
    assert correction.adjusted(chances) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert correction.adjusted(chances, "bh") == pytest.approx([0.02, 0.04, 0.04, 0.02])
    assert correction.adjusted([0.6, 0.7]) == [1.0, 1.0]
    assert correction.adjusted([]) == []


def test_the_scatter_of_pairs_is_their_median_distance_or_where_that_is_nothing_their_deviation() -> None:
    assert need.scale(np.array([1.0, 2.0, 3.0, 4.0, 100.0])) == close(1.4826)
    assert need.scale(np.array([1.0, 1.0, 1.0, 1.0, 6.0])) == close(math.sqrt(5))
    assert need.scale(np.array([1.0, 3.0])) == close(1.4826)
    assert need.scale(np.array([7.0])) == 0.0


@pytest.mark.parametrize(
    ("distance", "scatter", "level", "pairs"),
    [
        (1.0, 1.0, 0.05, 16),
        (0.5, 1.0, 0.05, 53),
        (0.1, 1.0, 0.05, 1236),
        (1.0, 1.0, 0.01, 24),
        (1.0, 0.01, 0.05, 6),
        (1.0, 0.01, 0.01, 8),
        (1.0, 0.0, 0.05, 6),
        (0.0, 1.0, 0.05, 10_000),
        (-1.0, 1.0, 0.05, 10_000),
        (1e-6, 1.0, 0.05, 10_000),
    ],
)
def test_the_pairs_that_see_a_distance(distance: float, scatter: float, level: float, pairs: int) -> None:
    """(1.960 + 0.842)^2 (scatter / distance)^2 + 1.960^2 / 2, times pi / 2, rounded up."""
    assert need.to_see(distance, scatter, level) == pairs


def test_the_pairs_that_decide_are_those_of_the_nearer_answer() -> None:
    values = np.array([-0.2, 0.1, 0.4])
    assert need.to_decide(values, 0.35, 0.05) == 43
    assert need.to_decide(values, 0.15, 0.05) == 247
    assert need.to_decide(-values, 0.35, 0.05) == 43
    assert need.to_decide(values[:2], 0.35, 0.05) == 6
    assert need.to_decide(values[:2], 0.35, 0.01) == 8


@pytest.mark.parametrize(
    ("values", "both", "less", "greater"),
    [
        ([1, 2, 3, 4, 5, 6], 2 / 64, 1.0, 1 / 64),
        ([1, 1, 1], 0.25, 1.0, 0.125),
        ([1, 1, -1], 1.0, 7 / 8, 0.5),
        ([2, 1, 1, -1], 0.5, 15 / 16, 0.25),
        ([0, 1, 2, 3], 0.25, 1.0, 0.125),
        ([0, 0, 0], 1.0, 1.0, 1.0),
        ([], 1.0, 1.0, 1.0),
    ],
)
def test_wilcoxons_chances_are_those_of_fair_coins(
    values: list[float], both: float, less: float, greater: float
) -> None:
    log_ratios = np.array(values, dtype=np.float64)
    assert signed_rank.p_value(log_ratios) == close(both)
    assert signed_rank.p_value(log_ratios, alternative="less") == close(less)
    assert signed_rank.p_value(log_ratios, alternative="greater") == close(greater)


def test_many_ties_are_reckoned_exactly() -> None:
    """Forty of sixty fair coins; the normal approximation says 0.0098."""
    assert signed_rank.p_value(np.array([1.0] * 40 + [-1.0] * 20)) == close(0.0134886)


def test_one_zero_among_many_is_reckoned_exactly() -> None:
    """All fifteen others on one side; the normal approximation says 0.0005."""
    assert signed_rank.p_value(np.arange(16.0)) == close(2 / 2**15)


def test_a_shift_moves_what_is_asked() -> None:
    values = np.array([1.0, 2.1, 3.3, 4.6, 6.0, 7.5])
    assert signed_rank.p_value(values, shift=0.5) == close(2 / 64)
    assert signed_rank.p_value(values, shift=8.0, alternative="less") == close(1 / 64)
    assert signed_rank.p_value(values, shift=4.0) > 0.5


def test_what_only_rounding_sets_apart_is_tied() -> None:
    assert signed_rank.p_value(np.array([0.1 + 0.2, 0.3, -0.3])) == 1.0


def test_the_fewest_pairs_that_can_reach_a_level() -> None:
    assert [signed_rank.smallest(pairs) for pairs in (0, 1, 2, 6)] == [1.0, 1.0, 0.5, 0.03125]
    assert [signed_rank.pairs_for(level) for level in (1.0, 0.5, 0.05, 0.03125, 0.01)] == [1, 2, 6, 6, 8]


@pytest.mark.parametrize(
    ("pairs", "level", "critical"),
    [(6, 0.05, 0), (7, 0.05, 2), (10, 0.05, 8), (10, 0.1, 10), (10, 0.01, 3), (20, 0.05, 52)],
)
def test_walsh_averages_are_cut_where_the_tables_of_wilcoxon_say(pairs: int, level: float, critical: int) -> None:
    """The critical values of the rank sum; one more average than its value lies below the interval."""
    assert walsh.cut(pairs, level) == critical + 1
    assert walsh.cut(5) == 0


def test_shifts_that_the_test_keeps_lie_between_walsh_averages() -> None:
    ten = np.arange(1.0, 11.0)
    low, high = walsh.bounds(np.array([ten, ten + 5]))
    assert low.tolist() == [3.0, 8.0]
    assert high.tolist() == [8.0, 13.0]
    low, high = walsh.bounds(np.array([[1.0, 2.0, 3.0]]))
    assert (low[0], high[0]) == (-math.inf, math.inf)


def test_the_spread_is_the_mean_distance_of_two_over_the_median() -> None:
    assert spread.spread([90.0, 100.0, 110.0]) == close(0.4 / 3)
    assert spread.spread([90.0, 110.0]) == close(0.2)
    assert spread.spread([7.0]) == 0.0
    assert spread.spread([0.0, 0.0, 3.0]) == 0.0


def test_welchs_test_of_sides_that_scatter_alike() -> None:
    """t = 1.2247 with four degrees of freedom; the interval is ln 2 +- 2.7764 times 0.56595."""
    found = welch.unpaired([1.0, 2.0, 4.0], [2.0, 4.0, 8.0])
    assert found is not None
    assert (found.p, found.low, found.high) == (close(0.28787), close(0.415563), close(9.625507))
    assert not found.differs
    assert welch.welch([1.0, 2.0, 4.0], [2.0, 4.0, 8.0]) == found.p


def test_welchs_test_of_a_side_that_does_not_scatter() -> None:
    found = welch.unpaired([2.0, 2.0, 2.0], [2.0, 4.0, 8.0])
    assert found is not None
    assert found.p == close(0.225403)
    found = welch.unpaired([2.0, 4.0, 8.0], [2.0, 2.0, 2.0])
    assert found is not None
    assert found.p == close(0.225403)


def test_sides_without_any_scatter_differ_or_do_not() -> None:
    apart, alike = welch.unpaired([2.0] * 3, [4.0] * 3), welch.unpaired([0.0] * 3, [1e-9] * 3)
    assert apart is not None
    assert alike is not None
    assert (apart.p, apart.low, apart.high, apart.differs) == (0.0, close(2.0), close(2.0), True)
    assert (alike.p, alike.low, alike.high, alike.differs) == (1.0, 1.0, 1.0, False)
    tiny = welch.unpaired([0.0] * 3, [2e-9] * 3)
    assert tiny is not None
    assert tiny.low == close(2.0)
    assert welch.welch([1.0, 2.0], [1.0, 2.0, 3.0]) is None
    assert welch.welch([1.0, 2.0, 3.0], [1.0, 2.0]) is None


def test_a_chance_of_five_in_a_hundred_is_no_difference() -> None:
    assert welch.Unpaired(0.0499, 1.0, 1.0).differs
    assert not welch.Unpaired(0.05, 1.0, 1.0).differs
