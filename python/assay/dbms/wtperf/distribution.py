"""Latency files as a record's distribution: with a histogram that merges."""

from __future__ import annotations

import math

from hdrh.histogram import HdrHistogram

from assay.dbms.wtperf.parse import Latencies, width
from assay.results.store.histogram import PERCENTILES
from assay.untyped import Json

_LOWEST, _HIGHEST, _DIGITS = 1, 3_600_000_000_000, 3


def distribution(found: Latencies) -> Json:
    """The buckets as a distribution, ns. Each value stands at its bucket's upper edge: never better than it was."""
    histogram = HdrHistogram(_LOWEST, _HIGHEST, _DIGITS)
    mean = (found.mean_us() or 0.0) * 1000
    squares = 0.0
    for edge, count in zip(found.edges_us, found.counts, strict=True):
        histogram.record_value(edge * 1000, count)
        squares += count * ((edge - width(edge) / 2) * 1000 - mean) ** 2
    lowest, highest = found.edges_us[0], found.edges_us[-1]
    return {
        "provenance": "measured",
        "count": found.sampled,
        "min_ns": (lowest - width(lowest)) * 1000,
        "mean_ns": mean,
        "stdev_ns": math.sqrt(squares / found.sampled),
        **{name: int((found.percentile_us(share) or 0) * 1000) for name, share in PERCENTILES.items()},
        "max_ns": highest * 1000,
        "above_range": 0,
        "supported_percentile": max(0.0, 100 * (1 - 100 / found.sampled)),
        "histogram": histogram.encode().decode(),
    }
