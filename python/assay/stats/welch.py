"""Two sides whose runs do not come in pairs: Welch's test on logarithms, as times and rates scatter by factors."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

LEVEL = 0.05
"""Below this probability a difference is called one."""
LEAST = 3
"""Runs of a side; with fewer it has no scatter that a test could use."""
_SMALLEST = 1e-9


@dataclass(frozen=True)
class Unpaired:
    """What the test says of the ratio of the other side to the first: `low` to `high` holds it with 95 %."""

    p: float
    low: float
    high: float

    @property
    def differs(self) -> bool:
        """Whether chance alone would seldom do this."""
        return self.p < LEVEL


def unpaired(first: Sequence[float], other: Sequence[float]) -> Unpaired | None:
    """Welch's unequal variances t-test (Welch 1947) of positive figures; None where a side has too few runs."""
    if min(len(first), len(other)) < LEAST:
        return None
    left, right = _logarithms(first), _logarithms(other)
    if max(left) == min(left) and max(right) == min(right):
        ratio = math.exp(right[0] - left[0])
        return Unpaired(1.0 if left[0] == right[0] else 0.0, ratio, ratio)
    from scipy import stats

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # One side without any scatter loses digits; that is no harm.
        test = stats.ttest_ind(right, left, equal_var=False)
        interval = test.confidence_interval(1 - LEVEL)
    return Unpaired(float(test.pvalue), math.exp(interval.low), math.exp(interval.high))


def welch(first: Sequence[float], other: Sequence[float]) -> float | None:
    """Probability of such a difference by chance; None where a side has too few runs."""
    found = unpaired(first, other)
    return None if found is None else found.p


def _logarithms(values: Sequence[float]) -> list[float]:
    return [math.log(max(value, _SMALLEST)) for value in values]
