"""Welch's test on logarithms, against figures worked by hand and against scipy."""

import math

import pytest
from assay.stats.welch import LEAST, unpaired, welch
from scipy import stats

FAST = [100.0, 102.0, 98.0, 101.0]
SLOW = [81.0, 79.0, 80.5, 80.0]


def test_too_few_runs_are_not_judged() -> None:
    assert unpaired(FAST[: LEAST - 1], SLOW) is None
    assert welch(FAST, SLOW[: LEAST - 1]) is None


def test_the_interval_holds_the_ratio_and_agrees_with_the_probability() -> None:
    found = unpaired(FAST, SLOW)
    assert found is not None
    assert found.differs
    assert found.low < 0.8 < found.high < 1
    wanted = stats.ttest_ind([math.log(one) for one in SLOW], [math.log(one) for one in FAST], equal_var=False)
    assert found.p == pytest.approx(float(wanted.pvalue))


def test_a_side_against_itself_is_no_difference() -> None:
    found = unpaired(FAST, FAST)
    assert found is not None
    assert not found.differs
    assert found.low < 1 < found.high


def test_sides_without_scatter_are_equal_or_not() -> None:
    same, twice = unpaired([2.0] * 3, [2.0] * 3), unpaired([2.0] * 3, [4.0] * 3)
    assert same is not None
    assert twice is not None
    assert (same.differs, twice.differs) == (False, True)
    assert twice.low == pytest.approx(2.0)
