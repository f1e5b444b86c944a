"""When a series falls: write caches that are full, garbage collection that begins."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

# A fall below this share of what went before is a drop: more than a simulation wavers by.
SHARE = 0.95
# Of what single intervals differ by from their level, a drop is several times as much.
SPREADS = 3.0
# Intervals that a level is read from; single intervals jump.
SPAN = 5


def drop_s(intervals: Sequence[dict[str, Any]]) -> float | None:
    """Seconds until bandwidth falls clearly from one level to another: where two levels describe the series best.

    Of several falls (a write cache, then collection) that is the one that the most bytes were lost by.

    Args:
        intervals: `{"at_s", "length_s", "bytes"}` in order of time.

    Returns:
        The start of the first interval at the lower level; None where the series does not fall.
    """
    rates = [point["bytes"] / point["length_s"] for point in intervals]
    start = _split(rates)
    if start is None or not _falls(rates[:start], rates[start:]):
        return None
    return float(intervals[start]["at_s"] - intervals[start]["length_s"])


def _split(rates: Sequence[float]) -> int | None:
    """Where to cut so that the squares of distances from the mean on either side are least."""
    sums = [0.0, *accumulate(rates)]
    count, whole = len(rates), sums[-1]
    places = range(SPAN, count - SPAN + 1)
    if not places:
        return None
    return max(places, key=lambda at: sums[at] ** 2 / at + (whole - sums[at]) ** 2 / (count - at))


def _falls(before: Sequence[float], after: Sequence[float]) -> bool:
    high, low = _median(before), _median(after)
    spread = _median([abs(rate - high) for rate in before])
    return low < SHARE * high and high - low > SPREADS * spread


def _median(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]
