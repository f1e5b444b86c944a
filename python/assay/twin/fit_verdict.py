"""Whether a fit may be called calibrated: how far repeats spread, how far held-out points are missed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from assay.stats.spread import LIMIT
from assay.twin.fit_drive import DriveFit
from assay.twin.fit_points import Measured
from assay.untyped import Json

# Nine of ten points must keep to the limit of the spread: a single disturbed window does not spoil a fit of fifty.
SHARE = 0.9
REPEATS = 3
MEDIAN_AT_MOST, P90_AT_MOST = 0.10, 0.25
WORST = 5


@dataclass(frozen=True)
class Errors:
    """Absolute relative errors."""

    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Iterable[float]) -> Errors:
        """From errors with their signs."""
        return cls(tuple(abs(value) for value in values))

    def at(self, share: float) -> float:
        """A quantile; 0 where there are none."""
        return float(np.quantile(self.values, share)) if self.values else 0.0

    def document(self) -> Json:
        """As `--json` prints it."""
        found = {"points": len(self.values), "median": self.at(0.5), "p90": self.at(0.9), "worst": self.at(1.0)}
        return {name: round(value, 4) for name, value in found.items()}


@dataclass(frozen=True)
class Verdict:
    """Errors and spreads, and why the fit is not certified; no reason where it is."""

    fitted: Errors
    held_out: Errors
    spreads: Errors
    reasons: tuple[str, ...]

    @property
    def certified(self) -> bool:
        """It may be called calibrated."""
        return not self.reasons


def judge(points: Sequence[Measured], drive: DriveFit, expected: int) -> Verdict:
    """`expected` is how many points the plan had."""
    held = [point for point in points if point.held_out]
    unseen = Errors.of(drive.error(point) for point in held)
    spreads = Errors.of(point.spread for point in points)
    reasons = [*_missing(points, expected), *_noise(points, spreads), *_errors(held, drive, unseen)]
    fitted = Errors.of(drive.error(point) for point in points if not point.held_out)
    return Verdict(fitted, unseen, spreads, tuple(reasons))


def _missing(points: Sequence[Measured], expected: int) -> list[str]:
    found = []
    if len(points) < expected:
        found.append(f"{len(points)} of {expected} points were measured")
    few = [point.name for point in points if len(point.rates) < REPEATS]
    if few:
        found.append(f"{len(few)} points ran fewer than {REPEATS} times, so that nobody knows how far repeats spread")
    return found


def _noise(points: Sequence[Measured], spreads: Errors) -> list[str]:
    if spreads.at(SHARE) <= LIMIT:
        return []
    noisy = sorted((point for point in points if point.spread > LIMIT), key=lambda point: -point.spread)
    worst = ", ".join(f"{point.name} {point.spread:.0%}" for point in noisy[:WORST])
    told = f"the repeats of {len(noisy)} of {len(points)} points spread more than {LIMIT:.0%} (one in ten may)"
    return [f"{told}; worst: {worst}"]


def _errors(held: Sequence[Measured], drive: DriveFit, unseen: Errors) -> list[str]:
    if not unseen.values:
        return ["no point was held out"]
    if unseen.at(0.5) <= MEDIAN_AT_MOST and unseen.at(0.9) <= P90_AT_MOST:
        return []
    far = sorted(held, key=lambda point: -abs(drive.error(point)))
    worst = ", ".join(f"{point.name} {drive.error(point):+.0%}" for point in far[:WORST])
    told = f"points that the fit did not see are missed by {unseen.at(0.5):.0%} in the median and {unseen.at(0.9):.0%}"
    limits = f"at the 90th percentile (at most {MEDIAN_AT_MOST:.0%} and {P90_AT_MOST:.0%})"
    return [f"{told} {limits}; worst: {worst}"]
