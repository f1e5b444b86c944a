"""How a cost grows with its work: the exponent of a power law, with an interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95


@dataclass(frozen=True)
class GrowthPoint:
    """`amount` of work took `cpu_s` of CPU, what starting takes left out."""

    amount: float
    cpu_s: float


@dataclass(frozen=True)
class Fit:
    """The exponent of amount, its interval (unbounded with two points), and that of `n log n` over the same amounts."""

    exponent: float
    low: float
    high: float
    allowed: float

    @property
    def worse(self) -> bool:
        """Whether it grows faster than `n log n`, and that is more than chance."""
        return self.low > self.allowed


def net(points: Sequence[GrowthPoint], start_s: float) -> list[GrowthPoint]:
    """Points without what starting takes; those of which nothing is left are left out."""
    return [GrowthPoint(point.amount, point.cpu_s - start_s) for point in points if point.cpu_s > start_s]


def fit(points: Sequence[GrowthPoint]) -> Fit | None:
    """Least squares of log cost over log amount, with Student's interval of the slope in a simple regression.

    None with fewer than two amounts.
    """
    from scipy.stats import linregress, t

    amounts = [math.log(point.amount) for point in points]
    if len(set(amounts)) < 2:
        return None
    line, freedom = linregress(amounts, [math.log(point.cpu_s) for point in points]), len(points) - 2
    reach = float(t.ppf((1 + CONFIDENCE) / 2, freedom)) * float(line.stderr) if freedom else math.inf
    return Fit(float(line.slope), float(line.slope) - reach, float(line.slope) + reach, n_log_n(points))


def n_log_n(points: Sequence[GrowthPoint]) -> float:
    """The mean exponent of `n log n` between the smallest and the largest amount, which is above 1 and falls with both.

    Amounts of one have no logarithm to grow; they are taken as two.
    """
    low, high = (max(pick(point.amount for point in points), 2.0) for pick in (min, max))
    if low == high:
        return 1.0
    return 1.0 + math.log(math.log(high) / math.log(low)) / math.log(high / low)
