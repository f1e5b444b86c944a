"""How far repeats of one figure lie apart."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence

LIMIT = 0.15
"""A spread above this is noise: the verdict `noisy-machine`."""


def spread(values: Sequence[float]) -> float:
    """Mean distance of two values over the median (Gini's mean difference); 0 for fewer than two values.

    Unlike the range it does not grow with the number of values: repeating more often makes nothing noisier.
    """
    middle = statistics.median(values) if len(values) > 1 else 0.0
    distances = [abs(one - other) for one, other in itertools.combinations(values, 2)]
    return statistics.fmean(distances) / middle if middle > 0 else 0.0
