"""Histograms merged, and percentiles read from what was merged: percentiles themselves are never merged."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray

from assay.error import FAILED, AssayError
from assay.untyped import Json

PERCENTILES = {"p50_ns": 50.0, "p90_ns": 90.0, "p99_ns": 99.0, "p999_ns": 99.9, "p9999_ns": 99.99}
SUMMARY = ("count", "min_ns", "mean_ns", *PERCENTILES, "max_ns")


def merge(encoded: Sequence[str]) -> HdrHistogram:
    """One histogram of all values in several serialised ones."""
    parts = [_decoded(text) for text in encoded]
    highest = max(part.highest_trackable_value for part in parts)
    digits = max(part.significant_figures for part in parts)
    merged = HdrHistogram(1, highest, digits)
    for part in parts:
        merged.add(part)
    return merged


def percentiles_of(histogram: HdrHistogram) -> dict[str, int]:
    """The named percentiles, each the highest value of its bucket.

    The library's own search adds up bucket by bucket in Python, for each percentile anew: nine tenths of what a table
    of a folder took. Its rules for a percentile's count and a bucket's value are asked.
    """
    upto = np.cumsum(np.ctypeslib.as_array(histogram.counts), dtype=np.int64)
    return {name: _value_at(histogram, upto, share) for name, share in PERCENTILES.items()}


def _value_at(histogram: HdrHistogram, upto: NDArray[np.int64], share: float) -> int:
    index = int(np.searchsorted(upto, histogram.get_target_count_at_percentile(share)))
    value: int = histogram.get_highest_equivalent_value(histogram.get_value_from_index(index))
    return value


def _decoded(text: str) -> HdrHistogram:
    try:
        return HdrHistogram.decode(text)
    except Exception as error:
        hint = "the record is damaged; run its cell again"
        raise AssayError(f"a stored histogram cannot be read: {error}", hint=hint, code=FAILED) from error


def merged_summary(distributions: Sequence[Json]) -> Json:
    """Count, extremes, mean and percentiles of several distributions taken together.

    Extremes and mean are exact: they come from the distributions, which know them without rounding.
    """
    counted = [one for one in distributions if one["count"] > 0]
    if not counted:
        return {"count": 0}
    count = sum(one["count"] for one in counted)
    largest = max(one["max_ns"] for one in counted)
    merged = merge([one["histogram"] for one in counted])
    percentiles = percentiles_of(merged)
    return {
        "count": count,
        "min_ns": min(one["min_ns"] for one in counted),
        "mean_ns": sum(one["mean_ns"] * one["count"] for one in counted) / count,
        **{name: min(largest, value) for name, value in percentiles.items()},
        "max_ns": largest,
    }
