"""The model of one kind of access to interleaved modules of memory, for fitting.

The same equations as `crates/twin/src/memory/{convoy,operation}.rs`, which define them; a test compares the two.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

# Threads on a group of modules beyond which the loss no longer changes.
MOST_THREADS = 96


@dataclass(frozen=True)
class GridShape:
    """What all sizes of one kind of access share."""

    sharpness: float
    sharpness_fall: float
    thread_gain: float
    knee_threads: float
    beyond_knee_share: float
    group: int


@dataclass(frozen=True)
class Size:
    """What belongs to one size: rates in bytes/s of one thread and of one module, and the loss with many threads."""

    thread_bytes_per_s: float
    module_bytes_per_s: float
    floor: float
    onset_threads: float
    decay_threads: float


def loss(size: Size, threads: Array) -> Array:
    """Share of a module's capacity that is left with so many threads on it."""
    over = np.maximum(threads - size.onset_threads, 0.0)
    return size.floor + (1.0 - size.floor) * np.exp(-over / size.decay_threads)


def share(size: Size, modules: int, threads: float, group: int) -> float:
    """Share of the capacity of a set of modules that is left where threads bunch up (product form)."""
    together = min(modules, group)
    here = min(threads * together / modules, float(MOST_THREADS))
    if size.floor >= 1.0 or here + 1.0 <= size.onset_threads:
        return 1.0
    if together == 1:
        return float(loss(size, np.array([max(here, 1.0)]))[0])
    whole = int(here)
    one = np.ones(whole + 2)
    one[1:] = np.cumprod(1.0 / loss(size, np.arange(1.0, whole + 2.0)))
    every = one
    for _ in range(together - 1):
        every = np.convolve(every, one)[: whole + 2]
    low, high = (_ratio(every, together, customers) for customers in (whole, whole + 1))
    return low + (high - low) * (here - whole)


def _ratio(normalisation: Array, modules: int, customers: int) -> float:
    if customers < 2:
        return 1.0
    even = customers / (customers + modules - 1.0)
    return float(normalisation[customers - 1] / normalisation[customers] / even)


def bandwidth(shape: GridShape, size: Size, modules: int, threads: float) -> float:
    """Bytes per second of so many threads on so many modules."""
    counted = min(threads, shape.knee_threads) + shape.beyond_knee_share * max(threads - shape.knee_threads, 0.0)
    rate = size.thread_bytes_per_s * (1.0 + shape.thread_gain * (1.0 - 1.0 / modules))
    room = modules * size.module_bytes_per_s * share(size, modules, counted, shape.group)
    sharpness = shape.sharpness * modules**-shape.sharpness_fall
    low, high = sorted((counted * rate, room))
    return float(low * (1.0 + (low / high) ** sharpness) ** (-1.0 / sharpness))
