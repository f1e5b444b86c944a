"""How sure a figure is: from whole runs or from whole intervals of a run, never from single operations.

Operations of one run are not independent, and neither are the intervals of its series: taken as if they were, both give
intervals that are far too narrow.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LEVEL = 0.95
RUNS_FOR_STUDENT = 3
RUNS_FOR_BOOTSTRAP = 10
INTERVALS_AT_LEAST = 10
WITHIN_A_RUN = "95 % within one run; another run of the cell may lie outside"
_LEAST_FREEDOM = 1.5
RESAMPLES = 1999
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
    """Interval of the median over runs; the plain range of two, which know no spread; none for one run."""
    import numpy as np

    if len(values) < 2:
        return None
    if len(values) < RUNS_FOR_STUDENT or len(set(values)) == 1 or min(values) <= 0:
        return Interval(min(values), max(values), f"range of {len(values)} runs")
    middle = float(np.median(values))
    low, high = _bootstrap(values) if len(values) >= RUNS_FOR_BOOTSTRAP else _student(values)
    if not np.isfinite([low, high]).all():
        low, high = _student(values)
    return Interval(min(low, middle), max(high, middle), f"95 % over {len(values)} runs")


def over_runs_above(values: Sequence[float], floors: Sequence[float]) -> Interval | None:
    """Interval of the median over runs of a figure that no run can have below another one of its own.

    A 99th percentile is at least the median of the same run. From three runs whose tails scatter, Student's t on the
    percentile alone reaches far below that; so the floor and what lies above it are taken apart (`_above`).
    """
    import numpy as np

    plain = over_runs(values)
    if plain is None or len(values) < RUNS_FOR_STUDENT:
        return plain
    gaps = [value - floor for value, floor in zip(values, floors, strict=True)]
    return _above(plain, float(np.median(values)), (floors, over_runs(floors)), (gaps, over_runs(gaps)))


def _above(
    plain: Interval,
    middle: float,
    floor: tuple[Sequence[float], Interval | None],
    gap: tuple[Sequence[float], Interval | None],
) -> Interval:
    """The interval of a sum of a floor and a positive gap, each with an interval of its own.

    Distances from the middle are added as errors are, for each side apart (MOVER: Zou and Donner, "Construction of
    confidence limits about effect measures", Statistics in Medicine 2008); the lower bound is no less than both lower
    bounds together. Where a gap is zero it has no logarithm: the plain interval is kept as far as it lies above the
    floor's, which loses no coverage.
    """
    import numpy as np

    (floors, under), (gaps, over) = floor, gap
    if under is None:
        return plain
    if over is None or min(gaps) <= 0:
        return Interval(max(plain.low, min(under.low, middle)), plain.high, plain.kind)
    base, excess = float(np.median(floors)), float(np.median(gaps))
    low = max(middle - math.hypot(base - under.low, excess - over.low), under.low + over.low)
    high = middle + math.hypot(under.high - base, over.high - excess)
    return Interval(min(low, middle), high, plain.kind)


def _bootstrap(values: Sequence[float]) -> tuple[float, float]:
    """Bounds of the median; not a number where the runs are too alike for a bootstrap."""
    import numpy as np
    from scipy import stats

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = stats.bootstrap(
            (np.asarray(values, dtype=np.float64),),
            np.median,
            n_resamples=RESAMPLES,
            method="BCa",
            rng=np.random.default_rng(_SEED),
        ).confidence_interval
    return float(found.low), float(found.high)


def _student(values: Sequence[float]) -> tuple[float, float]:
    """Student's t on logarithms, as rates and times scatter by factors: wide where there are few."""
    import numpy as np
    from scipy.special import stdtrit

    logs = np.log(np.asarray(values, dtype=np.float64))
    quantile = float(stdtrit(len(logs) - 1, (1 + LEVEL) / 2))
    reach = quantile * float(np.std(logs, ddof=1)) / math.sqrt(len(logs))
    return math.exp(float(np.mean(logs)) - reach), math.exp(float(np.mean(logs)) + reach)


def over_intervals(
    point: float, values: Sequence[float], weights: Sequence[float], *, kind: str = WITHIN_A_RUN
) -> Interval | None:
    """Interval of a run's figure from its series.

    Neighbouring intervals are alike, so that they know less than their number says. The spread of their weighted mean
    follows from an effective sample size, relative to the mean, and is laid around `point`: a percentile of the whole
    run is not the mean of the percentiles of its intervals, but it wanders as they do. It says nothing of another run.
    """
    import numpy as np

    sample, weight = _clean(values, weights)
    if len(sample) < INTERVALS_AT_LEAST or point <= 0:
        return None
    centre = float(np.average(sample, weights=weight))
    if centre <= 0:
        return None
    reach = _reach(sample, centre) / centre
    return Interval(point * max(0.0, 1 - reach), point * (1 + reach), kind)


def over_intervals_above(
    point: float, values: Sequence[float], floor: float, floors: Sequence[float], weights: Sequence[float]
) -> Interval | None:
    """The same of a figure of a run that cannot lie below another one of it, `floor` with the series `floors`."""
    plain = over_intervals(point, values, weights)
    if plain is None:
        return None
    gaps = [value - under for value, under in zip(values, floors, strict=True)]
    above = over_intervals(point - floor, gaps, weights)
    return _above(plain, point, ([floor], over_intervals(floor, floors, weights)), ([point - floor], above))


def _clean(values: Sequence[float], weights: Sequence[float]) -> tuple[Floats, Floats]:
    import numpy as np

    sample = np.asarray(values, dtype=np.float64)
    weight = np.asarray(weights, dtype=np.float64)
    good = np.isfinite(sample) & (weight > 0)
    return sample[good], weight[good]


def _reach(sample: Floats, centre: float) -> float:
    """Half of the interval of the mean of a series, as Student's t gives it for the effective number of values."""
    from scipy.special import stdtrit

    count = len(sample)
    rest = sample - centre
    squares = float(rest @ rest)
    if squares <= 0:
        return 0.0
    inflation = _inflation(_likeness(rest, squares), count)
    # The spread around a mean that follows the series is too small by what the mean itself wanders.
    variance = squares / (count - inflation)
    freedom = max(count / inflation - 1, _LEAST_FREEDOM)
    return float(stdtrit(freedom, (1 + LEVEL) / 2)) * math.sqrt(variance * inflation / count)


def _likeness(rest: Floats, squares: float) -> float:
    """Correlation of neighbours, 0 to 0.9, from above: the estimate is low in a short series, by (1 + 4 r) / n where
    the mean is unknown (Kendall 1954, "Note on bias in the estimation of autocorrelation"), and uncertain besides."""
    count = len(rest)
    raw = float(rest[1:] @ rest[:-1]) / squares
    likely = raw + (1 + 4 * max(raw, 0.0)) / count
    doubt = (0.5 + 2.5 / count) * math.sqrt(max(1 - likely * likely, 0.0) / count)
    return min(max(likely + doubt, 0.0), 0.9)


def _inflation(likeness: float, count: int) -> float:
    """How many times the variance of the mean of a first-order autoregressive series is that of independent values: the
    number of values over it is the effective one."""
    less = 1 - likeness
    return (1 + likeness) / less - 2 * likeness * (1 - likeness**count) / (count * less * less)


def ratio(over: Interval | None, under: Interval | None, value: float, make: Callable[[float], str]) -> str:
    """A ratio in words, with the widest bounds that both intervals allow."""
    if over is None or under is None or under.low <= 0:
        return make(value)
    low, high = over.low / under.high, over.high / under.low
    return make(value) if make(low) == make(high) else f"{make(value)} ({make(low)} to {make(high)})"
