"""Two targets side by side: ratios per query, their averages, and whether they differ beyond the repeats' scatter."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.stats.correction import adjusted
from assay.stats.welch import LEAST, LEVEL, welch


@dataclass(frozen=True)
class QueryContrast:
    """One query, or the whole, on two targets. `p` is corrected by Holm; none where nothing was tested."""

    name: str
    ratio: float
    p: float | None

    @property
    def words(self) -> str:
        """What may be said."""
        if self.p is None:
            return f"{self.ratio:.2f}x the time; not tested: it takes {LEAST} runs on each side"
        if self.p >= LEVEL:
            return f"no difference shown ({self.ratio:.2f}x the time, p = {self.p:.2g})"
        return f"{'slower' if self.ratio > 1 else 'faster'}: {self.ratio:.2f}x the time (p = {self.p:.2g})"


@dataclass(frozen=True)
class Contrast:
    """A target against the first one. Ratios are of times: above 1 it is slower."""

    queries: list[QueryContrast]
    whole: QueryContrast
    sum_ratio: float
    geometric_mean_ratio: float
    mean_speedup: float


Times = Mapping[str, Sequence[float]]


def contrast(first: Times, other: Times) -> Contrast | None:
    """Compares what both have; none where they share no query."""
    names = [name for name in first if name in other and first[name] and other[name]]
    if not names:
        return None
    left = {name: statistics.median(first[name]) for name in names}
    right = {name: statistics.median(other[name]) for name in names}
    ratios = {name: right[name] / left[name] for name in names}
    raw = {name: welch(first[name], other[name]) for name in names}
    tested = [name for name in names if raw[name] is not None]
    corrected = dict(zip(tested, adjusted([raw[name] or 0.0 for name in tested]), strict=True))
    geometric = math.exp(statistics.fmean(math.log(ratio) for ratio in ratios.values()))
    return Contrast(
        queries=[QueryContrast(name, ratios[name], corrected.get(name)) for name in names],
        whole=QueryContrast("all", geometric, welch(_rounds(first, names), _rounds(other, names))),
        sum_ratio=sum(right.values()) / sum(left.values()),
        geometric_mean_ratio=geometric,
        mean_speedup=statistics.fmean(1 / ratio for ratio in ratios.values()),
    )


def _rounds(times: Times, names: Sequence[str]) -> list[float]:
    """The geometric mean over the queries, of each repeat that has all of them."""
    count = min(len(times[name]) for name in names)
    return [math.exp(statistics.fmean(math.log(times[name][n]) for name in names)) for n in range(count)]
