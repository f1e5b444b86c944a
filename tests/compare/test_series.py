"""Series that change their level, and neighbours that are alike: places, probabilities and bounds."""

from __future__ import annotations

import numpy as np
import pytest
from assay.compare import blocks, change

NOISY = [5.0, 5.4, 4.7, 5.1, 4.9, 5.2, 9.0, 9.5, 8.6, 9.2, 8.8, 9.1]


def close(value: float) -> object:
    return pytest.approx(value, rel=1e-9, abs=1e-12)


def test_a_part_has_three_points_at_least() -> None:
    """Of six zeros and two nines the best place would be 6; at 5 it is 15 / 8 (2 * 6 - 2 * 2 * 9 / 6)."""
    assert change.strongest(np.array([0.0] * 6 + [9.0] * 2)) == (5, close(11.25))
    (found,) = change.changes([5.0] * 3 + [15.0] * 5)
    assert found.at == 3


def test_the_shift_is_that_of_the_medians() -> None:
    """Before: 4.7 4.9 5.0 5.1 5.2 5.4; after: 8.6 8.8 9.0 9.1 9.2 9.5."""
    (found,) = change.changes(NOISY)
    assert (found.at, found.shift) == (6, close(9.05 - 5.05))


def test_the_bounds_are_those_of_399_series_whose_parts_are_drawn_again() -> None:
    series = np.array([0.0, 2.0, 1.0, 3.0, 0.5, 2.5, 3.5, 2.0, 5.0, 3.0, 4.5, 6.0, 4.0, 2.5])
    found = change._described(series, 2, 8, 14, 0.01, np.random.default_rng(4), 100)
    lots, places, shifts = np.random.default_rng(4), [], []
    for _ in range(399):
        left = lots.choice(series[2:8], 6)
        right = lots.choice(series[8:14], 6)
        places.append(2 + change.strongest(np.concatenate((left, right)))[0])
        shifts.append(np.median(right) - np.median(left))
    # The 2.5th of 100: among 399 numbers in order, from 0, that is number 9.95, and number 388.05 at the other end.
    assert (found.first, found.last) == (100 + sorted(places)[10], 100 + sorted(places)[388])
    assert found.first < found.at == 108 < found.last
    assert found.low == close(float(np.quantile(shifts, 0.025)))
    assert found.high == close(float(np.quantile(shifts, 0.975)))
    assert found.low < found.shift < found.high


def test_the_second_change_is_tested_against_shuffles_of_each_part() -> None:
    """First 8, the wider step, for which the four highest lie at an end in 2 of 495 orders. Then of eight points, four
    high, 2 of 70 orders divide as well as theirs; the other part is too short to be divided at all."""
    first, second = change.changes([5.0] * 4 + [15.0] * 4 + [40.0] * 4)
    assert (first.at, second.at) == (4, 8)
    assert first.p == pytest.approx(2 / 70, abs=0.02)
    assert first.p > 5 / 500
    assert second.p == pytest.approx(2 / 495, abs=0.01)


def test_a_change_as_probable_as_the_level_is_one_and_parts_too_short_are_left_alone() -> None:
    step = [5.0] * 6 + [15.0] * 6
    assert change.changes(step)[0].p == 2 / 500
    assert len(change.changes(step, level=2 / 500)) == 1
    assert change.changes(step, level=1.9 / 500) == []
    assert [one.at for one in change.changes([5.0] * 4 + [15.0] * 4, level=1.0)] == [4]


def test_the_same_series_gives_the_same_figures_whoever_reckons_them() -> None:
    noise = np.random.default_rng(8).normal(0, 1, 30) + np.repeat([0.0, 1.0], 15)
    assert change.changes(noise.tolist()) == change.changes(noise.tolist(), seed=20210620)
    assert change.changes(noise.tolist()) != change.changes(noise.tolist(), seed=20210621)


def test_a_wanderer_of_seven_counts_in_blocks_of_two_and_no_shorter_one_does() -> None:
    """Ranks less four: 1.5 3 1.5 0 -1.5 -3 -1.5, whose products with their neighbours make 18 of 27; over 7 pairs the
    bound is 1.645 / 2.646 = 0.62."""
    wave = np.array([1.0, 2.0, 1.0, 0.0, -1.0, -2.0, -1.0])
    assert blocks.likeness(wave) == close(18 / 27)
    assert blocks.length(wave) == 2
    assert blocks.length(np.array([])) == 1
    assert [blocks.length(np.arange(float(count))) for count in (1, 2, 6, 7)] == [1, 1, 1, 1]
    # 4 / 7 and 5 / 8 of the power: below the bound, and above that of eight, 0.58.
    assert [blocks.likeness(np.arange(float(count))) for count in (7, 8)] == [close(4 / 7), close(5 / 8)]
    assert blocks.length(np.arange(8.0)) == 2


def test_one_block_that_is_longer_than_the_series_is_the_whole() -> None:
    assert blocks.merged(np.array([1.0, 2.0, 6.0]), 5).tolist() == [3.0]
    assert blocks.merged(np.array([1.0, 2.0, 6.0]), 3).tolist() == [3.0]
    assert blocks.merged(np.array([1.0, 2.0, 6.0]), 2).tolist() == [3.0]
    assert blocks.merged(np.array([1.0, 2.0, 6.0, 8.0]), 2).tolist() == [1.5, 7.0]
