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

_EXACT = 200


def p_value(log_ratios: Floats, *, shift: float = 0.0, alternative: Alternative = "two-sided") -> float:
    """How probable so lopsided a set of log ratios is where their centre is `shift` (beyond it, for one side).

    SciPy's, exact up to 50 pairs, where no two distances are alike. Ties and zeros, common among latencies that a
    histogram has rounded, are reckoned exactly too: zeros take part in the ranking (Pratt 1959), so that equal pairs
    speak for equality.
    """
    from scipy import stats

    # Differences that only rounding sets apart are ties.
    values = np.round(np.asarray(log_ratios, dtype=np.float64) - shift, 12)
    if not len(values) or not np.any(values):
        return 1.0
    tied = len(np.unique(np.abs(values))) < len(values) or not np.all(values)
    if not tied or len(values) > _EXACT:
        found = stats.wilcoxon(values, zero_method="pratt", alternative=alternative, method="auto").pvalue
        return float(found)
    return _tied(values, alternative)


def _tied(values: Floats, alternative: Alternative) -> float:
    """Exact with ties: every rank above zero is taken or left by a fair coin. Ranks are doubled to be whole."""
    from scipy import stats

    ranks = np.rint(2 * stats.rankdata(np.abs(values))).astype(int)[values != 0]
    chances = np.ones(1)
    for rank in ranks:
        wider = np.zeros(len(chances) + rank)
        wider[: len(chances)] = chances / 2
        wider[rank:] += chances / 2
        chances = wider
    seen = int(ranks[values[values != 0] > 0].sum())
    less, greater = float(chances[: seen + 1].sum()), float(chances[seen:].sum())
    return min(1.0, {"less": less, "greater": greater, "two-sided": 2 * min(less, greater)}[alternative])


def smallest(pairs: int) -> float:
    """The smallest two-sided probability that so many pairs can reach: all of them on one side."""
    return min(1.0, 2.0 ** (1 - pairs))


def pairs_for(level: float) -> int:
    """The fewest pairs that can reach a level at all."""
    pairs = 1
    while smallest(pairs) > level:
        pairs += 1
    return pairs
