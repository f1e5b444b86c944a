"""Fitting a twin's kinds of access to a published grid, and what the fit says of points that it did not see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import least_squares

from assay.twin.grid_file import GridPoint
from assay.twin.grid_model import Array, GridShape, Size, bandwidth

# Weak priors, in units of a relative error of the data: they decide only what the points leave open.
_PRIOR = 0.02
_PRIOR_SHAPE = 0.03
_ONSET = 8.0
_DECAY = 8.0
# Share below which no capacity falls: a line of 64 bytes costs a granule of 256 at worst.
_LEAST_FLOOR = 0.2

# Three channels belong to a memory controller of the processors that drive these modules.
CONVOY_MODULES = 3
# Beyond so many threads two share a core on the machine of the grid.
_KNEE = 16.0

_START = {
    "sequential_read": GridShape(4.0, 0.2, 0.0, _KNEE, 0.1, CONVOY_MODULES),
    "random_read": GridShape(4.0, 0.2, 0.0, _KNEE, 0.1, CONVOY_MODULES),
    "sequential_nt": GridShape(12.0, 0.2, 0.0, np.inf, 1.0, CONVOY_MODULES),
    "random_nt": GridShape(12.0, 0.2, 0.0, np.inf, 1.0, CONVOY_MODULES),
    "sequential_clwb": GridShape(3.0, 0.1, 0.0, np.inf, 1.0, CONVOY_MODULES),
    "random_clwb": GridShape(3.0, 0.1, 0.0, np.inf, 1.0, CONVOY_MODULES),
    "sequential_plain": GridShape(8.0, 0.2, 0.0, np.inf, 1.0, CONVOY_MODULES),
    "random_plain": GridShape(4.0, 0.2, 0.0, np.inf, 1.0, CONVOY_MODULES),
}


@dataclass(frozen=True)
class Fit:
    """One kind of access, fitted."""

    shape: GridShape
    sizes: dict[float, Size]
    error: float
    """Median relative error on the points that were fitted."""

    def predict(self, point: GridPoint) -> float:
        """Bytes per second at a point whose size was fitted."""
        return bandwidth(self.shape, self.sizes[point.size_bytes], point.modules, float(point.threads))


@dataclass(frozen=True)
class HeldOut:
    """Relative errors on points that a fit did not see."""

    errors: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean of the absolute errors."""
        return float(np.mean(np.abs(self.errors)))

    @property
    def median(self) -> float:
        """Median of the absolute errors."""
        return float(np.median(np.abs(self.errors)))

    @property
    def p90(self) -> float:
        """90th percentile of the absolute errors."""
        return float(np.quantile(np.abs(self.errors), 0.9))

    @property
    def worst(self) -> float:
        """Largest absolute error."""
        return float(np.max(np.abs(self.errors)))


def fit_kind(kind: str, points: Sequence[GridPoint]) -> Fit:
    """Least squares of the logarithm: every point counts by its relative error."""
    start = _START[kind]
    scaled = len({point.modules for point in points}) > 1
    names = ["sharpness"] + (["sharpness_fall", "thread_gain"] if scaled else [])
    if start.knee_threads < np.inf and scaled:
        names.append("beyond_knee_share")
    sizes = sorted({point.size_bytes for point in points})
    first = np.array([_start(start, name) for name in names] + [x for s in sizes for x in _first(points, s)])
    seen = np.log([point.bytes_per_s for point in points])

    def residuals(x: Array) -> Array:
        fit = _unpack(start, names, sizes, x)
        misses = np.log([fit.predict(point) for point in points]) - seen
        return np.concatenate([misses, _priors(x, first, len(names))])

    low, high = _limits(names, len(sizes))
    found = least_squares(residuals, np.clip(first, low, high), bounds=(low, high), x_scale=1.0)
    fit = _unpack(start, names, sizes, found.x)
    errors = [abs(fit.predict(point) / point.bytes_per_s - 1.0) for point in points]
    return replace(fit, error=float(np.median(errors)))


def hold_out(kind: str, points: Sequence[GridPoint]) -> HeldOut | None:
    """Fits the smallest set of modules and predicts the larger ones; none where there is one set only."""
    least = min(point.modules for point in points)
    seen = [point for point in points if point.modules == least]
    unseen = [point for point in points if point.modules > least]
    if not unseen:
        return None
    fit = fit_kind(kind, seen)
    known = [point for point in unseen if point.size_bytes in fit.sizes]
    return HeldOut(tuple(fit.predict(point) / point.bytes_per_s - 1.0 for point in known))


def _start(shape: GridShape, name: str) -> float:
    value = float(getattr(shape, name))
    return float(np.log(value)) if name == "sharpness" else value


def _first(points: Sequence[GridPoint], size: float) -> list[float]:
    """Start of one size: rate of a thread, capacity of a module, loss."""
    here = [point for point in points if point.size_bytes == size]
    alone = max(point.bytes_per_s / point.threads for point in here)
    module = max(point.bytes_per_s / point.modules for point in here)
    # Where one thread fills a module its own rate does not show; that it could do half as much again is the guess.
    alone = alone * 1.5 if alone > 0.9 * module else alone
    return [float(np.log(alone)), float(np.log(module)), 0.0, float(np.log(_ONSET)), float(np.log(_DECAY))]


def _unpack(start: GridShape, names: Sequence[str], sizes: Sequence[float], x: Array) -> Fit:
    found = {name: float(np.exp(v)) if name == "sharpness" else float(v) for name, v in zip(names, x, strict=False)}
    shape = GridShape(
        found.get("sharpness", start.sharpness),
        found.get("sharpness_fall", start.sharpness_fall),
        found.get("thread_gain", start.thread_gain),
        start.knee_threads,
        found.get("beyond_knee_share", start.beyond_knee_share),
        start.group,
    )
    rest = x[len(names) :].reshape(len(sizes), 5)
    return Fit(shape, {size: _size(row) for size, row in zip(sizes, rest, strict=True)}, 0.0)


def _size(row: Array) -> Size:
    floor = _LEAST_FLOOR + (1.0 - _LEAST_FLOOR) / (1.0 + np.exp(-row[2]))
    alone, module, onset, decay = np.exp(row[[0, 1, 3, 4]])
    return Size(float(alone), float(module), float(floor), float(onset), float(decay))


def _priors(x: Array, first: Array, shapes: int) -> Array:
    weights = np.full(x.shape, _PRIOR)
    weights[:shapes] = _PRIOR_SHAPE
    weights[shapes + 1 :: 5] = 0.0
    return weights * (x - first)


def _limits(names: Sequence[str], sizes: int) -> tuple[Array, Array]:
    # Two sets of modules do not tell how the corner softens on six; one module has 10 and six have 4 in the data of
    # Yang and others (FAST 2020) for sequential reads, so that the exponent is kept small.
    limits = {"sharpness": (0.0, 3.7), "sharpness_fall": (0.0, 0.25), "thread_gain": (0.0, 0.5)}
    limits["beyond_knee_share"] = (0.0, 1.0)
    shape = [limits[name] for name in names]
    each = [(-np.inf, np.inf), (-np.inf, np.inf), (-6.0, 6.0), (0.0, 4.5), (-1.0, 4.5)] * sizes
    low, high = zip(*(shape + each), strict=True)
    return np.array(low), np.array(high)
