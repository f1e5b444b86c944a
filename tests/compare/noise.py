"""Noise as machines make it, in time order: two runs a pair, the order inside each pair drawn by lot."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Generator = np.random.Generator

SCATTER = 0.01
"""Standard deviation of one run, as a logarithm."""


def iid(lots: Generator, trials: int, runs: int) -> Floats:
    return lots.standard_normal((trials, runs))


def heavy(lots: Generator, trials: int, runs: int) -> Floats:
    """Student's t with two degrees of freedom: no finite variance."""
    return lots.standard_t(2, (trials, runs))


def skewed(lots: Generator, trials: int, runs: int) -> Floats:
    return lots.exponential(1.0, (trials, runs)) ** 1.5


def drifting(lots: Generator, trials: int, runs: int) -> Floats:
    """A drift of six standard deviations from the first run to the last."""
    return lots.standard_normal((trials, runs)) + np.linspace(0, 6, runs)


def alike(likeness: float) -> Callable[[Generator, int, int], Floats]:
    """Neighbouring runs resemble each other: autoregressive of order one."""

    def make(lots: Generator, trials: int, runs: int) -> Floats:
        found = lots.standard_normal((trials, runs))
        fresh = np.sqrt(1 - likeness**2)
        for place in range(1, runs):
            found[:, place] = likeness * found[:, place - 1] + fresh * found[:, place]
        return found

    return make


def jumping(lots: Generator, trials: int, runs: int) -> Floats:
    """Now and then the machine changes its mind for good."""
    return lots.standard_normal((trials, runs)) + 3 * np.cumsum(lots.random((trials, runs)) < 0.1, axis=1)


KINDS: dict[str, Callable[[Generator, int, int], Floats]] = {
    "iid": iid,
    "heavy": heavy,
    "skewed": skewed,
    "drifting": drifting,
    "alike-0.5": alike(0.5),
    "alike-0.8": alike(0.8),
    "jumping": jumping,
}


def pairs(kind: str, lots: Generator, trials: int, count: int, effect: float = 0.0) -> Floats:
    """Log ratios, B over A: trials by pairs, with a true effect."""
    runs = KINDS[kind](lots, trials, 2 * count) * SCATTER
    coins = lots.integers(0, 2, (trials, count)) * 2 - 1
    return coins * (runs[:, 1::2] - runs[:, 0::2]) + effect
