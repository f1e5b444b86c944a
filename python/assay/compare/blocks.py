"""Neighbouring pairs that resemble each other, and what is done about it.

Lots inside the pairs make the differences of equal sides independent. A difference that itself comes and goes does
not become independent by that: then neighbours are taken together until blocks are as good as independent.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def likeness(log_ratios: Floats) -> float:
    """Correlation of neighbouring pairs (lag 1), on ranks so that one wild pair does not decide; 0 for a constant."""
    from scipy import stats

    if not len(log_ratios):
        return 0.0
    ranks = stats.rankdata(log_ratios)
    centred = ranks - ranks.mean()
    power = float(centred @ centred)
    return float(centred[1:] @ centred[:-1]) / power if power > 0 else 0.0


def length(log_ratios: Floats) -> int:
    """Pairs to a block: 1 unless neighbours are alike beyond chance (5 %, one-sided), else n^(1/3).

    Fewer than seven pairs are never so much alike, so that a block has at least two.
    """
    count = len(log_ratios)
    if likeness(log_ratios) * math.sqrt(count) <= 1.645:
        return 1
    return round(math.cbrt(count))


def merged(log_ratios: Floats, block: int) -> Floats:
    """The mean of each block of neighbours; a remainder joins the last whole block."""
    values = np.asarray(log_ratios, dtype=np.float64)
    if block == 1:
        return values
    edges = list(range(block, len(values) - block + 1, block))
    return np.array([part.mean() for part in np.split(values, edges)])
