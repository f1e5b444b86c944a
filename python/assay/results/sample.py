"""Fewer points for the page: a bucket keeps its lowest, mean and highest value, so that no spike is lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

CHART_POINTS = 18_000


@dataclass(frozen=True)
class Bucket:
    """Neighbouring points of a series."""

    at: float
    low: float
    mean: float
    high: float


def buckets(at: Sequence[float], values: Sequence[float], limit: int) -> list[Bucket]:
    """At most `limit` buckets that cover all points in their order."""
    if len(at) != len(values):
        raise ValueError(f"{len(at)} times for {len(values)} values")
    if len(at) <= limit:
        return [Bucket(when, value, value, value) for when, value in zip(at, values, strict=True)]
    edges = np.linspace(0, len(at), max(1, limit) + 1).astype(int)
    found = []
    for first, last in pairwise(edges):
        part = np.asarray(values[first:last], dtype=np.float64)
        middle = float(np.mean(at[first:last]))
        found.append(Bucket(middle, float(part.min()), float(part.mean()), float(part.max())))
    return found
