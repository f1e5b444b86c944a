"""One side against itself: how often is a difference seen that is not there, and how small a one can be seen here.

Pseudo-experiments draw whole pairs again from those that were run, with fresh lots for the order. How far that carries
depends on the number of pairs that were really run, which stands beside every figure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.compare import blocks
from assay.compare.line import Line
from assay.compare.pair import begun
from assay.stats import bootstrap, need, walsh
from assay.untyped import Json

Floats = NDArray[np.float64]

EXPERIMENTS = 400
SIZES = (10, 20, 40)
WINDOW = 10
POWER = 0.8
_DRAWS = 999
_FEWEST = 10
_SEED = 20210620


@dataclass(frozen=True)
class Visible:
    """The smallest loss or gain that so many pairs show in 80 of 100 experiments, and what the evidence leaves open."""

    pairs: int
    share: float
    low: float
    high: float
    false_alarms: float


@dataclass(frozen=True)
class SelfTest:
    """What running one side against itself says about one metric.

    `likeness` is the lag-1 correlation of runs in time order; `one_after_other` the share of false alarms that a
    Mann-Whitney test of `WINDOW` runs against the `WINDOW` runs after them gives, over `windows` overlapping windows of
    which `apart` do not overlap; `drift` the ratio of the later half of the runs over the earlier.
    """

    line: Line
    pairs: int
    scatter: float
    likeness: float
    drift: float
    visible: tuple[Visible, ...]
    one_after_other: float | None
    windows: int
    apart: int

    def document(self) -> Json:
        """As `--json` prints it."""
        return {
            "cell": self.line.cell,
            "class": self.line.class_name,
            "metric": self.line.metric,
            "pairs_run": self.pairs,
            "scatter_of_a_pair": self.scatter,
            "likeness_of_neighbouring_runs": self.likeness,
            "drift_over_the_run": self.drift,
            "experiments": EXPERIMENTS,
            "smallest_visible": [vars(one) for one in self.visible],
            "one_after_other": {"false_alarms": self.one_after_other, "windows": self.windows, "apart": self.apart},
        }


def test(line: Line) -> SelfTest | None:
    """What the pairs of a line say; none for fewer than ten, which say next to nothing."""
    values = np.asarray(line.log_ratios, dtype=np.float64)
    if len(values) < _FEWEST or not np.any(values):
        return None
    runs = _in_time(line)
    share, windows, apart = one_after_other(runs)
    half = len(runs) // 2
    return SelfTest(
        line=line,
        pairs=len(values),
        scatter=need.scale(values),
        likeness=blocks.likeness(runs),
        drift=math.exp(float(np.median(runs[half:]) - np.median(runs[:half]))),
        visible=tuple(visible(values, size) for size in sorted({*SIZES, len(values)})),
        one_after_other=share,
        windows=windows,
        apart=apart,
    )


def _in_time(line: Line) -> Floats:
    """Logarithms of all runs in the order in which they ran."""
    runs = sorted((one for pair in line.pairs for one in (pair.a, pair.b)), key=begun)
    return np.log([value for one in runs if (value := one.metric(line.metric))])


def visible(log_ratios: Floats, size: int, seed: int = _SEED) -> Visible:
    """What experiments of `size` pairs would show, had they the scatter of these pairs.

    An effect shifts all log ratios and both intervals alike, so that each experiment gives at once the smallest effect
    that it would have shown.
    """
    lots = np.random.default_rng(seed)
    samples = drawn(log_ratios, size, lots)
    least, false = _least_effect(samples)
    effect = float(np.quantile(least, POWER))
    low, high = _open(log_ratios, lots)
    share, least_share, most_share = (_grown(effect * factor) for factor in (1.0, low, high))
    return Visible(size, share, least_share, most_share, float(np.mean(false)))


def _grown(effect: float) -> float:
    """A logarithm of a ratio as a share; of no more than e^50, where nothing can be shown anyway."""
    return math.expm1(min(effect, 50.0))


def drawn(log_ratios: Floats, size: int, lots: np.random.Generator) -> Floats:
    """Pseudo-experiments: pairs drawn again, and the order of each drawn anew, which turns its sign."""
    index = lots.integers(0, len(log_ratios), (EXPERIMENTS, size))
    coins = lots.integers(0, 2, (EXPERIMENTS, size)) * 2 - 1
    return np.asarray(log_ratios[index] * coins, dtype=np.float64)


def _least_effect(samples: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """The smallest positive effect that each sample shows, and whether it shows one that is not there."""
    low, high = walsh.bounds(samples)
    count = samples.shape[1]
    index = bootstrap.drawn(count, 1)[:_DRAWS]
    share = bootstrap.tail(count)
    medians = np.median(samples[:, index], axis=2)
    below, above = np.quantile(medians, (share, 1 - share), axis=1)
    lowest, highest = np.minimum(low, below), np.maximum(high, above)
    return -lowest, (lowest > 0) | (highest < 0)


def _open(log_ratios: Floats, lots: np.random.Generator) -> tuple[float, float]:
    """Factors between which the scatter may really lie, from so many pairs (95 %, bootstrap)."""
    index = lots.integers(0, len(log_ratios), (EXPERIMENTS, len(log_ratios)))
    scatter = np.median(np.abs(log_ratios[index]), axis=1) / max(float(np.median(np.abs(log_ratios))), 1e-300)
    low, high = np.quantile(scatter, (0.025, 0.975))
    return float(low), float(high)


def one_after_other(runs: Floats) -> tuple[float | None, int, int]:
    """False alarms of the plan that is common elsewhere: all runs of A, then all of B, and a Mann-Whitney test."""
    from scipy import stats

    length = 2 * WINDOW
    starts = range(len(runs) - length + 1)
    if not starts:
        return None, 0, 0
    alarms = [
        bool(stats.mannwhitneyu(runs[start : start + WINDOW], runs[start + WINDOW : start + length]).pvalue <= 0.05)
        for start in starts
    ]
    return sum(alarms) / len(alarms), len(alarms), len(runs) // length


def tests(lines: Sequence[Line]) -> list[SelfTest]:
    """All lines that say enough."""
    return [found for line in lines if (found := test(line)) is not None]


def sentences(found: SelfTest) -> list[str]:
    """What it says, for people."""
    from assay.compare import words
    from assay.results import row

    name = row.metric_title(found.line.metric)
    scatter = f"two runs of a pair differ by {_share(found.scatter)} (one standard deviation)"
    lines = [f"{found.line.cell}, {name}: {scatter}; {found.pairs} pairs were run."]
    lines += [_visible(one) for one in found.visible]
    if found.one_after_other is not None:
        lines.append(
            f"{WINDOW} runs and then {WINDOW} more, not as pairs, would differ falsely in "
            f"{100 * found.one_after_other:.0f} % ({found.windows} overlapping windows, only {found.apart} apart); "
            f"neighbouring runs correlate by {found.likeness:.2f}, and the later half lies "
            f"{words.change(found.drift)} from the earlier."
        )
    return lines


def _visible(one: Visible) -> str:
    return (
        f"{one.pairs} pairs show a difference of {_said(one.share)} or more in {100 * POWER:.0f} % of cases "
        f"({_said(one.low)} to {_said(one.high)} on this evidence), and one that is not there in "
        f"{100 * one.false_alarms:.1f} % of {EXPERIMENTS} pseudo-experiments."
    )


def _said(share: float) -> str:
    """A difference in per cent; of a multiple in times."""
    if share >= 1e6:
        return "more than a million times"
    return f"{1 + share:.3g} times" if share >= 2 else f"{100 * share:.1f} %"


def _share(scatter: float) -> str:
    return _said(_grown(scatter))
