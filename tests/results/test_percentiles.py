"""Percentiles of a histogram are those that the library finds by its own, slower search."""

from __future__ import annotations

from assay.results.store.histogram import PERCENTILES, percentiles_of
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st


@given(st.lists(st.tuples(st.integers(1, 10**9), st.integers(1, 10**6)), min_size=1, max_size=40))
def test_percentiles_are_those_of_the_library(values: list[tuple[int, int]]) -> None:
    histogram = HdrHistogram(1, 10**9, 2)
    for value, count in values:
        histogram.record_value(value, count)
    own = {name: histogram.get_value_at_percentile(share) for name, share in PERCENTILES.items()}
    assert percentiles_of(histogram) == own
    read = HdrHistogram.decode(histogram.encode())
    assert percentiles_of(read) == own
