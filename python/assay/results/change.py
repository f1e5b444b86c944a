"""Where a series changes its level: least-squares segments, as many as pay for themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

# More points than this are averaged first; the search is quadratic.
_POINTS = 300
_SHORTEST = 5
# A change of level below this share of it is not worth a mark.
_RELATIVE = 0.15


@dataclass(frozen=True)
class Segment:
    """Points `first` up to, not including, `last` with one level."""

    first: int
    last: int
    level: float


def segments(values: Sequence[float]) -> list[Segment]:
    """Splits a series where its level changes by more than noise and by more than 15 %."""
    series = np.asarray(values, dtype=np.float64)
    if len(series) < 2 * _SHORTEST:
        return [Segment(0, len(series), float(series.mean()))] if len(series) else []
    width = -(-len(series) // _POINTS)
    edges = [*range(0, len(series), width), len(series)]
    coarse = np.array([series[a:b].mean() for a, b in pairwise(edges)])
    cuts = [edges[cut] for cut in _cuts(coarse)]
    return _merged(series, [0, *cuts, len(series)])


def _cuts(series: NDArray[np.float64]) -> list[int]:
    """Optimal partitioning with a penalty for every segment (Jackson et al. 2005)."""
    count = len(series)
    first = np.concatenate(([0.0], np.cumsum(series)))
    second = np.concatenate(([0.0], np.cumsum(series**2)))
    noise = float(np.median(np.abs(np.diff(series)))) / 0.954
    penalty = 6.0 * max(noise, 1e-3 * float(np.abs(series).mean()), 1e-12) ** 2 * float(np.log(count))
    best, origin = np.full(count + 1, np.inf), np.zeros(count + 1, dtype=int)
    best[0] = -penalty
    for end in range(_SHORTEST, count + 1):
        starts = np.arange(0, end - _SHORTEST + 1)
        sums, lengths = first[end] - first[starts], end - starts
        costs = best[starts] + (second[end] - second[starts]) - sums**2 / lengths + penalty
        origin[end] = starts[int(np.argmin(costs))]
        best[end] = costs.min()
    found, end = [], count
    while (end := int(origin[end])) > 0:
        found.append(end)
    return sorted(found)


def _merged(series: NDArray[np.float64], edges: list[int]) -> list[Segment]:
    found: list[Segment] = []
    for first, last in pairwise(edges):
        level = float(series[first:last].mean())
        if found and abs(level - found[-1].level) <= _RELATIVE * max(abs(level), abs(found[-1].level)):
            start = found.pop().first
            found.append(Segment(start, last, float(series[start:last].mean())))
        else:
            found.append(Segment(first, last, level))
    return found
