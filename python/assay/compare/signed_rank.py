"""Wilcoxon's signed-rank test on the logarithms of ratios, one for each pair.

Where the order inside each pair was drawn by lot, the signs of the differences of two equal sides are fair coins
whatever the noise does: drift, heavy tails and likeness of neighbours leave the level as it is.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Alternative = Literal["two-sided", "less", "greater"]

RESAMPLES = 9999
_SEED = 20210620


def p_value(log_ratios: Floats, *, shift: float = 0.0, alternative: Alternative = "two-sided") -> float:
    """How probable so lopsided a set of log ratios is where their centre is `shift` (beyond it, for one side).

    Exact up to 50 pairs without ties; with ties, or zeros, the signs are flipped at random (a seed is fixed), all of
    them where they are few. Zeros take part in the ranking (Pratt 1959), so that equal pairs speak for equality.
    """
    from scipy import stats

    values = np.asarray(log_ratios, dtype=np.float64) - shift
    if not len(values) or not np.any(values):
        return 1.0
    tied = len(np.unique(np.abs(values))) < len(values) or not np.all(values)
    if not tied:
        return float(stats.wilcoxon(values, alternative=alternative, method="auto").pvalue)
    by_flips = stats.PermutationMethod(n_resamples=RESAMPLES, rng=np.random.default_rng(_SEED))
    found = stats.wilcoxon(values, zero_method="pratt", alternative=alternative, method=by_flips)
    return min(1.0, float(found.pvalue))


def smallest(pairs: int) -> float:
    """The smallest two-sided probability that so many pairs can reach: all of them on one side."""
    return min(1.0, 2.0 ** (1 - pairs))


def pairs_for(level: float) -> int:
    """The fewest pairs that can reach a level at all."""
    pairs = 1
    while smallest(pairs) > level:
        pairs += 1
    return pairs
