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
    """Least squares of log cost over log amount, with Student's interval of the slope.

    None with fewer than two amounts. The interval is that of simple regression: the slope's standard error is the root
    of the residuals' sum of squares over `points - 2` and the amounts' sum of squares.
    """
    amounts = [math.log(point.amount) for point in points]
    if len(set(amounts)) < 2:
        return None
    costs = [math.log(point.cpu_s) for point in points]
    middle, level = math.fsum(amounts) / len(points), math.fsum(costs) / len(points)
    spread = math.fsum((amount - middle) ** 2 for amount in amounts)
    pairs = list(zip(amounts, costs, strict=True))
    slope = math.fsum((amount - middle) * (cost - level) for amount, cost in pairs) / spread
    left = math.fsum((cost - level - slope * (amount - middle)) ** 2 for amount, cost in pairs)
    reach = _reach(left, spread, len(points) - 2)
    return Fit(slope, slope - reach, slope + reach, n_log_n(points))


def n_log_n(points: Sequence[GrowthPoint]) -> float:
    """The mean exponent of `n log n` between the smallest and the largest amount, which is above 1 and falls with both.

    Amounts of one have no logarithm to grow; they are taken as two.
    """
    low, high = (max(pick(point.amount for point in points), 2.0) for pick in (min, max))
    if low == high:
        return 1.0
    return 1.0 + math.log(math.log(high) / math.log(low)) / math.log(high / low)


def _reach(left: float, spread: float, freedom: int) -> float:
    if freedom < 1:
        return math.inf
    from scipy.stats import t

    return float(t.ppf((1 + CONFIDENCE) / 2, freedom)) * math.sqrt(left / freedom / spread)
