"""Where a series of result folders changes its level: divided by energy statistics, tested by permutation.

Matteson and James, A Nonparametric Approach for Multiple Change Point Analysis of Multivariate Data, JASA 2014
("E-divisive"): no shape of the noise is assumed, each change is tested before the parts beside it are searched, and the
chance of a false change in a series without one is the level. Neighbours must be exchangeable where nothing changed;
how alike they are is reported beside the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SHORTEST = 3
FEWEST = 8
LEVEL = 0.05
MOST = 400
_PERMUTATIONS = 499
_DRAWS = 399
_SEED = 20210620


@dataclass(frozen=True)
class FigureChange:
    """The level changes before point `at`; with 95 % the true place lies from `first` to `last`.

    `shift` is the difference of the medians after and before, with its 95 % bounds.
    """

    at: int
    first: int
    last: int
    shift: float
    low: float
    high: float
    p: float


def changes(values: Sequence[float], *, seed: int = _SEED, level: float = LEVEL) -> list[FigureChange]:
    """Changes of a series, in order. A series of fewer than eight points has none that could be shown."""
    series = np.asarray(values, dtype=np.float64)[-MOST:]
    skipped = max(0, len(values) - MOST)
    if len(series) < FEWEST:
        return []
    lots = np.random.default_rng(seed)
    cuts = _divide(series, lots, level)
    edges = [0, *sorted(cuts), len(series)]
    return [
        _described(series, *places, cuts[places[1]], lots, skipped)
        for places in zip(edges, edges[1:], edges[2:], strict=False)
    ]


def _divide(series: Floats, lots: np.random.Generator, level: float) -> dict[int, float]:
    """Places of changes with their probabilities: the strongest first, until one is no more than chance."""
    found: dict[int, float] = {}
    while True:
        parts = list(pairwise([0, *sorted(found), len(series)]))
        best = [(begin, *strongest(series[begin:end])) for begin, end in parts]
        begin, place, statistic = max(best, key=lambda one: one[2])
        if place == 0:
            return found
        p = _by_chance(series, parts, statistic, lots)
        if p > level:
            return found
        found[begin + place] = p


def _by_chance(series: Floats, parts: Sequence[tuple[int, int]], statistic: float, lots: np.random.Generator) -> float:
    """How often parts whose points are shuffled have a change as strong."""
    reached = 1
    for _ in range(_PERMUTATIONS):
        shuffled = (lots.permutation(series[begin:end]) for begin, end in parts)
        reached += max(strongest(part)[1] for part in shuffled) >= statistic
    return reached / (_PERMUTATIONS + 1)


def strongest(series: Floats) -> tuple[int, float]:
    """The place that divides a series best, and the energy statistic there; 0 and 0 where it is too short.

    The part before it is compared with the part after it by mean distances between and within (exponent 1).
    """
    count = len(series)
    if count < 2 * SHORTEST:
        return 0, 0.0
    sums = np.zeros((count + 1, count + 1))
    sums[1:, 1:] = np.abs(series[:, None] - series[None, :]).cumsum(axis=0).cumsum(axis=1)
    places = np.arange(SHORTEST, count - SHORTEST + 1)
    before, total = sums[places, places], sums[count, count]
    crossing = sums[places, count] - before
    after = total - before - 2 * crossing
    n, m = places.astype(float), (count - places).astype(float)
    energy = 2 * crossing / (n * m) - before / (n * (n - 1)) - after / (m * (m - 1))
    statistic = n * m / (n + m) * energy
    best = int(np.argmax(statistic))
    return int(places[best]), float(statistic[best])


def _described(
    series: Floats, begin: int, at: int, end: int, p: float, lots: np.random.Generator, skipped: int
) -> FigureChange:
    """A change with bounds: both parts are drawn again, and the change looked for anew."""
    left, right = series[begin:at], series[at:end]
    places, shifts = [], []
    for _ in range(_DRAWS):
        a, b = lots.choice(left, len(left)), lots.choice(right, len(right))
        place, _ = strongest(np.concatenate((a, b)))
        places.append(begin + place if place else at)
        shifts.append(float(np.median(b) - np.median(a)))
    first, last = np.quantile(places, (0.025, 0.975), method="nearest")
    low, high = np.quantile(shifts, (0.025, 0.975))
    shift = float(np.median(right) - np.median(left))
    return FigureChange(at + skipped, int(min(first, at)) + skipped, int(max(last, at)) + skipped, shift,
                  min(float(low), shift), max(float(high), shift), p)  # fmt: skip
