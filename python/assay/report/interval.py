"""How sure a figure is: resampling of whole runs or of whole intervals, never of single operations.

Operations of one run are not independent, so that resampling them gives intervals that are far too narrow.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

RESAMPLES = 1999
RUNS_FOR_BOOTSTRAP = 6
INTERVALS_FOR_BOOTSTRAP = 10
_SEED = 20210620


@dataclass(frozen=True)
class Interval:
    """Two bounds and what they are."""

    low: float
    high: float
    kind: str

    @property
    def is_range(self) -> bool:
        """Lowest and highest of too few runs for an interval."""
        return self.kind.startswith("range")


def over_runs(values: Sequence[float]) -> Interval | None:
    """Interval of the median over runs; the plain range where runs are too few; none for one run."""
    if len(values) < 2:
        return None
    if len(values) < RUNS_FOR_BOOTSTRAP or len(set(values)) == 1:
        return Interval(min(values), max(values), f"range of {len(values)} runs")
    low, high = _bootstrap(values)
    if not np.isfinite([low, high]).all():
        return Interval(min(values), max(values), f"range of {len(values)} runs")
    middle = float(np.median(values))
    low, high = max(min(low, middle), min(values)), min(max(high, middle), max(values))
    return Interval(low, high, f"95 % over {len(values)} runs")


def _bootstrap(values: Sequence[float]) -> tuple[float, float]:
    """Bounds of the median; not a number where the runs are too alike for a bootstrap."""
    from scipy import stats

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = stats.bootstrap(
            (np.asarray(values, dtype=np.float64),),
            np.median,
            n_resamples=RESAMPLES,
            method="BCa" if len(values) >= 10 else "percentile",
            rng=np.random.default_rng(_SEED),
        ).confidence_interval
    return float(found.low), float(found.high)


def over_intervals(
    point: float, values: Sequence[float], weights: Sequence[float], *, kind: str = "95 % over the run's intervals"
) -> Interval | None:
    """Interval of a run's figure from its series.

    Blocks of neighbouring intervals are drawn around the circle, so that what is alike in time stays together. The
    spread of the weighted mean, relative to the mean, is laid around `point`: a percentile of the whole run is not the
    mean of the percentiles of its intervals, but it wanders as they do.
    """
    sample, weight = _clean(values, weights)
    if len(sample) < INTERVALS_FOR_BOOTSTRAP or point <= 0:
        return None
    centre = float(np.average(sample, weights=weight))
    if centre <= 0:
        return None
    drawn = _block_means(sample, weight) / centre
    low, high = np.quantile(drawn, (0.025, 0.975))
    return Interval(min(point * float(low), point), max(point * float(high), point), kind)


def _clean(values: Sequence[float], weights: Sequence[float]) -> tuple[Floats, Floats]:
    sample = np.asarray(values, dtype=np.float64)
    weight = np.asarray(weights, dtype=np.float64)
    good = np.isfinite(sample) & (weight > 0)
    return sample[good], weight[good]


def _block_means(sample: Floats, weight: Floats) -> Floats:
    count = len(sample)
    length = max(1, round(count ** (1 / 3)))
    blocks = -(-count // length)
    starts = np.random.default_rng(_SEED).integers(0, count, size=(RESAMPLES, blocks, 1))
    index = ((starts + np.arange(length)) % count).reshape(RESAMPLES, -1)[:, :count]
    drawn: Floats = (sample[index] * weight[index]).sum(axis=1) / weight[index].sum(axis=1)
    return drawn


def ratio(over: Interval | None, under: Interval | None, value: float, make: Callable[[float], str]) -> str:
    """A ratio in words, with the widest bounds that both intervals allow."""
    if over is None or under is None or under.low <= 0:
        return make(value)
    low, high = over.low / under.high, over.high / under.low
    return make(value) if make(low) == make(high) else f"{make(value)} ({make(low)} to {make(high)})"
