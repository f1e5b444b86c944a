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

    ranks = stats.rankdata(log_ratios) if len(log_ratios) else np.zeros(0)
    centred = ranks - ranks.mean() if len(ranks) else ranks
    power = float(centred @ centred)
    return float(centred[1:] @ centred[:-1]) / power if power > 0 else 0.0


def length(log_ratios: Floats) -> int:
    """Pairs to a block: 1 unless neighbours are alike beyond chance (5 %, one-sided), else n^(1/3), at least 2."""
    count = len(log_ratios)
    if count < 4 or likeness(log_ratios) <= 1.645 / math.sqrt(count):
        return 1
    return max(2, round(math.cbrt(count)))


def merged(log_ratios: Floats, block: int) -> Floats:
    """The mean of each block of neighbours; a remainder joins the last whole block."""
    values = np.asarray(log_ratios, dtype=np.float64)
    if block == 1:
        return values
    edges = list(range(0, len(values) - block + 1, block)) or [0]
    parts = np.split(values, edges[1:])
    return np.array([part.mean() for part in parts])
