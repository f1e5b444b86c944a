"""Series: nothing of a spike is lost, and changes of level are found where they are."""

from itertools import pairwise

import numpy as np
from assay.results import change, sample
from hypothesis import given
from hypothesis import strategies as st


@given(
    st.lists(st.floats(min_value=-1e6, max_value=1e6), min_size=1, max_size=400), st.integers(min_value=1, max_value=50)
)
def test_buckets_keep_lowest_and_highest_and_their_order(values: list[float], limit: int) -> None:
    found = sample.buckets(list(range(len(values))), values, limit)
    assert len(found) <= max(limit, 1) or len(found) == len(values)
    assert min(bucket.low for bucket in found) == min(values)
    assert max(bucket.high for bucket in found) == max(values)
    assert [bucket.at for bucket in found] == sorted(bucket.at for bucket in found)
    assert all(bucket.low - 1e-6 <= bucket.mean <= bucket.high + 1e-6 for bucket in found)


def test_changes_are_found_where_the_level_changes() -> None:
    random = np.random.default_rng(5)
    series = np.concatenate([random.normal(500, 15, 240), random.normal(190, 6, 1500), random.normal(110, 4, 600)])
    found = change.segments(list(series))
    assert [round(part.level, -1) for part in found] == [500, 190, 110]
    assert abs(found[1].first - 240) <= 10
    assert abs(found[2].first - 1740) <= 10


@given(st.integers(min_value=0, max_value=400))
def test_noise_alone_is_one_level(length: int) -> None:
    series = list(np.random.default_rng(length).normal(100, 4, length))
    found = change.segments(series)
    assert len(found) == (1 if length else 0)


@given(st.lists(st.floats(min_value=0, max_value=1e9), min_size=1, max_size=200))
def test_segments_cover_the_series_without_gap(values: list[float]) -> None:
    found = change.segments(values)
    assert found[0].first == 0
    assert found[-1].last == len(values)
    assert all(before.last == after.first for before, after in pairwise(found))
