"""How many pairs a decision would take, from the scatter that was seen."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from assay.stats import signed_rank

Floats = NDArray[np.float64]

POWER = 0.8
MOST = 10_000
# Asymptotic variance of a median over that of a mean, for normal noise.
_MEDIAN = math.pi / 2


def scale(log_ratios: Floats) -> float:
    """Scatter of pairs: 1.4826 times the median distance from the median; the standard deviation where that is 0."""
    values = np.asarray(log_ratios, dtype=np.float64)
    if len(values) < 2:
        return 0.0
    robust = 1.4826 * float(np.median(np.abs(values - np.median(values))))
    return robust or float(values.std(ddof=1))


def to_see(distance: float, scatter: float, level: float) -> int:
    """Pairs after which a distance is seen with probability 0.8, for normal noise.

    The normal approximation promises too much for few pairs: half the squared quantile is added (Guenther 1981).
    """
    from scipy import stats

    fewest = signed_rank.pairs_for(level)
    if scatter == 0:
        return fewest
    if distance <= 0:
        return MOST
    edge = float(stats.norm.ppf(1 - level / 2))
    wanted = ((edge + float(stats.norm.ppf(POWER))) * scatter / distance) ** 2 + edge**2 / 2
    return max(fewest, min(MOST, math.ceil(_MEDIAN * wanted)))


def to_decide(log_ratios: Floats, margin: float, level: float) -> int:
    """Pairs after which the sides are probably told apart, or found equivalent, whichever comes first.

    `margin` is a logarithm. With fewer than three pairs there is no scatter to go by: what the level asks for.
    """
    if len(log_ratios) < 3:
        return signed_rank.pairs_for(level)
    scatter, centre = scale(log_ratios), abs(float(np.median(log_ratios)))
    return min(to_see(centre, scatter, level), to_see(margin - centre, scatter, level))
