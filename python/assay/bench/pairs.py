"""Two programs measured in turn, and what follows from the pairs."""

import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Ratio:
    """The ratio of Assay's figure to fio's: the median of the pairs, and an interval for their geometric mean."""

    median: float
    low: float
    high: float


def in_turn(repeats: int, ours: Callable[[], Any], theirs: Callable[[], Any]) -> Iterator[tuple[Any, Any]]:
    """Pairs of results. Who goes first alternates, so that a drift of the machine favours nobody."""
    for repeat in range(repeats):
        if repeat % 2 == 0:
            first = ours()
            yield first, theirs()
        else:
            first = theirs()
            yield ours(), first


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> Ratio:
    """Ratio of paired figures. With one pair there is no interval, and it says so by being unbounded."""
    each = [one / other for one, other in zip(ours, theirs, strict=True)]
    logs = [math.log(value) for value in each]
    if len(logs) < 2:
        return Ratio(each[0], 0.0, math.inf)
    reach = half_width(logs)
    middle = statistics.fmean(logs)
    return Ratio(statistics.median(each), math.exp(middle - reach), math.exp(middle + reach))


def half_width(values: Sequence[float]) -> float:
    """Half of the interval of a mean, by Student's t."""
    from scipy.stats import t

    quantile = float(t.ppf((1 + CONFIDENCE) / 2, len(values) - 1))
    return quantile * statistics.stdev(values) / math.sqrt(len(values))


def spread(values: Sequence[float]) -> float:
    """Largest less smallest, as a share of the median."""
    middle = statistics.median(values)
    return (max(values) - min(values)) / middle if middle else 0.0


def compared(ours: Sequence[float], theirs: Sequence[float], unit: str) -> dict[str, Any]:
    """One figure of both programs as it stands in a result."""
    found = asdict(ratio(ours, theirs))
    return {
        "unit": unit,
        "assay": statistics.median(ours),
        "fio": statistics.median(theirs),
        "ratio": found["median"],
        "ratio_low": found["low"] if math.isfinite(found["high"]) else None,
        "ratio_high": found["high"] if math.isfinite(found["high"]) else None,
        "assay_spread": spread(ours),
        "fio_spread": spread(theirs),
        "assay_repeats": list(ours),
        "fio_repeats": list(theirs),
    }
