"""Interval of a median over whole runs, by the bootstrap that is corrected for bias and acceleration.

Efron, Better Bootstrap Confidence Intervals, JASA 1987 ("BCa"). `scipy.stats.bootstrap` gives the same numbers of the
same draws, and a test holds both together. It is not used here because loading `scipy.stats` takes longer than a
hundred of these intervals, and because it draws anew for each what is alike for all sides of one length.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

RESAMPLES = 1999
_SEED = 20210620


def bounds(values: Sequence[float], level: float) -> tuple[float, float]:
    """Bounds of the median; not a number where the runs are too alike for a bootstrap."""
    sample = np.asarray(values, dtype=np.float64)
    medians = np.median(sample[_drawn(len(sample))], axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = _shares(medians, float(np.median(sample)), _acceleration(sample), level)
        low, high = (np.percentile(medians, 100 * share) if np.isfinite(share) else np.nan for share in shares)
    return float(low), float(high)


@cache
def _drawn(count: int) -> NDArray[np.int64]:
    """Which runs each resample holds."""
    return np.random.default_rng(_SEED).integers(0, count, size=(RESAMPLES, count))


def _acceleration(sample: Floats) -> np.float64:
    """How fast the spread of the median changes with it, from the medians without each run (a sixth of their skew)."""
    without = np.array([np.median(np.delete(sample, place)) for place in range(len(sample))])
    rest = without.mean() - without
    found: np.float64 = np.sum(rest**3) / (6 * np.sum(rest**2) ** 1.5)
    return found


def _shares(medians: Floats, middle: float, acceleration: np.float64, level: float) -> tuple[float, float]:
    """Shares of the resampled medians that lie below each bound."""
    from scipy.special import ndtr, ndtri

    below = (np.count_nonzero(medians < middle) + np.count_nonzero(medians <= middle)) / (2 * len(medians))
    bias = ndtri(below)
    reach = ndtri((1 - level) / 2)
    low, high = (ndtr(bias + at / (1 - acceleration * at)) for at in (bias + reach, bias - reach))
    return float(low), float(high)
