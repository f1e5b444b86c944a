"""One side against itself: what its pseudo-experiments draw, and what is said of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from assay.compare import selftest
from assay.compare.selftest import SelfTest, Visible
from assay.stats import bootstrap, walsh

from compare.runs import line, pairs


def test_experiments_draw_every_pair_and_toss_a_coin_for_its_sign() -> None:
    found = selftest.drawn(np.array([1.0, 2.0, 4.0]), 7, np.random.default_rng(1))
    assert found.shape == (400, 7)
    assert set(found.ravel()) == {-4.0, -2.0, -1.0, 1.0, 2.0, 4.0}


def test_the_least_effect_turns_both_intervals_round() -> None:
    """Where all pairs of a sample are alike, both intervals are that one value."""
    least, false = selftest._least_effect(np.full((3, 10), [[0.5], [-0.5], [0.0]]))
    assert least.tolist() == [-0.5, 0.5, 0.0]
    assert false.tolist() == [True, True, False]


def test_the_least_effect_is_shown_by_the_test_and_by_999_resampled_medians() -> None:
    samples = np.random.default_rng(3).standard_normal((50, 10))
    medians = np.median(samples[:, bootstrap.drawn(10, 1)[:999]], axis=2)
    share = bootstrap.tail(10)
    resampled = np.quantile(medians, share, axis=1)
    least, _ = selftest._least_effect(samples)
    assert least.tolist() == (-np.minimum(resampled, walsh.bounds(samples)[0])).tolist()
    assert (resampled < walsh.bounds(samples)[0]).any()


def test_scatter_is_open_between_the_medians_of_pairs_drawn_again() -> None:
    lots = np.random.default_rng(1)
    assert selftest._open(np.full(12, 0.5), lots) == (1.0, 1.0)
    # 7 of 27 draws of three have the first twice or more, and then its distance in the middle.
    assert selftest._open(np.array([10.0, 1.0, 1.0]), lots) == (1.0, 10.0)
    # Five of seventeen are small: nine or more of them are drawn in 3.6 % of cases, beyond 2.5 % and within 5.
    low, high = selftest._open(np.array([0.1] * 5 + [1.0] * 12), np.random.default_rng(2))
    assert (low, high) == (0.1, 1.0)


def test_pairs_as_far_apart_each_time_leave_nothing_open_about_their_scatter() -> None:
    found = selftest.visible(np.full(12, 0.1), 20)
    assert found.low == found.share == found.high > 0
    assert found == selftest.visible(np.full(12, 0.1), 20, seed=20210620)
    run = np.random.default_rng(2).normal(0, 0.02, 15)
    assert selftest.visible(run, 10) == selftest.visible(run, 10, seed=20210620)
    assert selftest.visible(run, 10) != selftest.visible(run, 10, seed=20210621)
    found = selftest.visible(run, 10)
    low, high = math.log1p(found.low) / math.log1p(found.share), math.log1p(found.high) / math.log1p(found.share)
    assert low < 1 < high


def test_what_could_be_seen_ends_at_e_to_the_fifty() -> None:
    assert selftest._grown(0.1) == pytest.approx(math.expm1(0.1))
    assert selftest._grown(60.0) == math.expm1(50.0)


def test_a_line_says_something_from_ten_pairs_on_unless_all_are_equal() -> None:
    rates = [1000.0 + place for place in range(10)]
    ten = line(pairs(rates, [1000.0, *rates[:9]]))
    assert ten.log_ratios[0] == 0.0
    found = selftest.tests([ten, line(ten.pairs[:9]), line(pairs(rates, rates))])
    assert [one.line for one in found] == [ten]


def test_drift_is_the_later_half_over_the_earlier() -> None:
    """Logarithms 0.001 times 0, 1, 4, 9, ...: the medians are (14^2 + 15^2) / 2 later and (4^2 + 5^2) / 2 before."""
    rates = [1000 * math.exp(0.001 * place**2) for place in range(20)]
    a = [rates[2 * place + place % 2] for place in range(10)]
    b = [rates[2 * place + 1 - place % 2] for place in range(10)]
    found = selftest.test(line(pairs(a, b)))
    assert found is not None
    assert found.drift == pytest.approx(math.exp(0.001 * (210.5 - 20.5)))


def windows(below: int) -> list[float]:
    """Ten runs, and ten after them of which so many pairs lie below: 21 or 25 of 100."""
    later = [place + (2.5 if place < 4 and below == 25 else 3.5) for place in range(10)]
    assert sum(b < a for a in range(10) for b in later) == below
    return [*map(float, range(10)), *later]


def test_ten_runs_after_ten_differ_falsely_below_five_percent() -> None:
    """Normal, with continuity: (50 - 25 - 0.5) / 13.23 is 6.4 %, and (50 - 21 - 0.5) / 13.23 is 3.1 %."""
    assert selftest.one_after_other(np.array(windows(25))) == (0.0, 1, 1)
    assert selftest.one_after_other(np.array(windows(21))) == (1.0, 1, 1)
    assert selftest.one_after_other(np.array([*windows(25), *windows(21)]))[1:] == (21, 2)
    # Four ones of ten against none are 3.4 %, with ties taken off the variance, and three are 7.7 %: of 21 windows
    # those differ that begin at 4, where the last ten have four ones, to 16, where the first ten have six of them.
    assert selftest.one_after_other(np.array([0.0] * 20 + [1.0] * 20)) == (13 / 21, 21, 2)


@pytest.mark.parametrize(
    ("share", "said"),
    [(0.0123, "1.2 %"), (1.999, "199.9 %"), (2.0, "3 times"), (2.5, "3.5 times"), (999_999.0, "1e+06 times"),
     (1e6, "more than a million times"), (1.5e6, "more than a million times")],
)  # fmt: skip
def test_what_is_visible_is_said_in_percent_and_then_in_times(share: float, said: str) -> None:
    assert selftest._said(share) == said


def test_what_it_says_of_a_side() -> None:
    seen = (Visible(10, 0.02, 0.01, 0.03, 0.04), Visible(20, 2.0, 0.5, 3.0, 0.05))
    found = SelfTest(line(), 12, math.log(1.05), 0.25, 1.1, seen, 0.333, 5, 2)
    run, tries, apart = "12 pairs were", "400 pseudo-experiments", "overlapping windows, only 2 apart"
    alike = "neighbouring runs correlate by 0.25, and the later half lies +10.0 % from the earlier."
    rare = "on this evidence), and one that is not there in"
    assert selftest.sentences(found) == [
        f"threads 4, operations per second: two runs of a pair differ by 5.0 % (one standard deviation); {run} run.",
        f"10 pairs show a difference of 2.0 % or more in 80 % of cases (1.0 % to 3.0 % {rare} 4.0 % of {tries}.",
        f"20 pairs show a difference of 3 times or more in 80 % of cases (50.0 % to 4 times {rare} 5.0 % of {tries}.",
        f"10 runs and then 10 more, not as pairs, would differ falsely in 33 % (5 {apart}); {alike}",
    ]
    assert len(selftest.sentences(SelfTest(line(), 12, 0.1, 0.25, 1.1, seen, None, 0, 0))) == 3
