"""Interval of the median log ratio: whole pairs, or blocks of neighbouring pairs, are drawn again.

The plain percentile interval is too narrow for few pairs. Its tails are widened as Student's t and the missing factor
n / (n - 1) ask for (Hesterberg, What Teachers Should Know About the Bootstrap, The American Statistician 2015,
"expanded percentile"); docs/compare-method.md has what that gives in simulation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

RESAMPLES = 4999
_SEED = 20210620


@dataclass(frozen=True)
class Interval:
    """Bounds of a log ratio."""

    low: float
    high: float

    def holds(self, value: float) -> bool:
        """Whether a value lies between the bounds, both included."""
        return self.low <= value <= self.high


def tail(pairs: int, level: float = 0.05) -> float:
    """Share of the resampled medians that lies beyond each bound, for so many independent pairs."""
    from scipy import stats

    if pairs < 2:
        return 0.0
    t = float(stats.t.ppf(1 - level / 2, pairs - 1))
    return float(stats.norm.cdf(-math.sqrt(pairs / (pairs - 1)) * t))


def median_interval(log_ratios: Floats, *, block: int = 1, level: float = 0.05) -> Interval:
    """Interval of the median over pairs in time order; `block` neighbours are drawn together, around the circle."""
    values = np.asarray(log_ratios, dtype=np.float64)
    count = len(values)
    medians = np.median(values[drawn(count, block)], axis=1)
    share = tail(max(2, count // block), level)
    low, high = np.quantile(medians, (share, 1 - share))
    middle = float(np.median(values))
    return Interval(min(float(low), middle), max(float(high), middle))


@cache
def drawn(count: int, block: int) -> NDArray[np.intp]:
    """Which pairs each resample holds."""
    blocks = -(-count // block)
    starts = np.random.default_rng(_SEED).integers(0, count, size=(RESAMPLES, blocks, 1))
    return ((starts + np.arange(block)) % count).reshape(RESAMPLES, -1)[:, :count]
