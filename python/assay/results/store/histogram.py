"""Histograms merged, and percentiles read from what was merged: percentiles themselves are never merged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hdrh.histogram import HdrHistogram

from assay.error import FAILED, AssayError

Json = dict[str, Any]

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
    return {
        "count": count,
        "min_ns": min(one["min_ns"] for one in counted),
        "mean_ns": sum(one["mean_ns"] * one["count"] for one in counted) / count,
        **{name: min(largest, merged.get_value_at_percentile(share)) for name, share in PERCENTILES.items()},
        "max_ns": largest,
    }
