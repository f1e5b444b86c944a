"""The signed-rank test turned round: the shifts that it would not reject (Hodges and Lehmann 1963).

Exact, and quick for many samples at once, which is what pseudo-experiments need.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@cache
def cut(pairs: int, level: float = 0.05) -> int:
    """How many of the smallest Walsh averages lie below the interval; 0 where so few pairs reject nothing.

    The null distribution of the rank sum is that of a sum of 1 to n, each taken or left by a fair coin.
    """
    chances = np.ones(1)
    for rank in range(1, pairs + 1):
        wider = np.zeros(len(chances) + rank)
        wider[: len(chances)] = chances / 2
        wider[rank:] += chances / 2
        chances = wider
    return int(np.searchsorted(np.cumsum(chances), level / 2, side="right"))


def bounds(samples: Floats, level: float = 0.05) -> tuple[Floats, Floats]:
    """Lowest and highest shift that the test keeps, for each row of `samples`; infinite where it keeps them all."""
    rows, pairs = samples.shape
    below = cut(pairs, level)
    if below == 0:
        return np.full(rows, -np.inf), np.full(rows, np.inf)
    first, second = np.triu_indices(pairs)
    averages = np.sort((samples[:, first] + samples[:, second]) / 2, axis=1)
    return averages[:, below - 1], averages[:, -below]
