"""When a series falls: write caches that are full, garbage collection that begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# A fall below this share of what went before is a drop: more than a simulation wavers by.
SHARE = 0.85
# Intervals that a level is read from; single intervals jump.
SPAN = 5


def drop_s(intervals: Sequence[dict[str, Any]]) -> float | None:
    """Seconds until bandwidth falls clearly below its level until then (see `SHARE`), and stays there for a while.

    Args:
        intervals: `{"at_s", "length_s", "bytes"}` in order of time.

    Returns:
        The start of the first interval of the fall; None where the series does not fall.
    """
    rates = [point["bytes"] / point["length_s"] for point in intervals]
    for start in range(SPAN, len(rates) - SPAN + 1):
        before = sorted(rates[:start])[start // 2]
        if max(rates[start : start + SPAN]) < SHARE * before:
            return float(intervals[start]["at_s"] - intervals[start]["length_s"])
    return None
