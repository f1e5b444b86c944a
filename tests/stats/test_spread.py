"""How far repeats lie apart, however many there are."""

from pathlib import Path

import numpy as np
import pytest
from assay.stats.spread import LIMIT, spread


def test_two_values_have_their_distance() -> None:
    assert spread([90.0, 110.0]) == pytest.approx(0.2)
    assert spread([100.0]) == 0.0
    assert spread([0.0, 0.0]) == 0.0


def test_repeating_more_often_makes_nothing_noisier() -> None:
    """A machine whose repeats scatter by 8 %: half of all pairs of repeats lie less than 8 % apart."""
    random = np.random.default_rng(11)
    mean = {
        count: float(np.mean([spread(list(random.normal(100, 8, count))) for _ in range(300)])) for count in (3, 10, 30)
    }
    assert max(mean.values()) < LIMIT
    assert max(mean.values()) / min(mean.values()) < 1.1, mean


def test_what_is_noise_is_what_its_page_says() -> None:
    page = Path(__file__).parents[2] / "docs" / "verdicts" / "noisy-machine.md"
    assert f"{LIMIT:.0%}".replace("%", " %") in page.read_text()
