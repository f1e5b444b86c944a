"""The verdict on repeats says what it saw in digits that show why."""

from __future__ import annotations

import re

import pytest
from assay.stats.spread import LIMIT
from assay.study import noisy


@pytest.mark.parametrize(
    ("seen", "text"), [(0.152, "15.2%"), (0.15004, "15.004%"), (0.16, "16%"), (0.4321, "43%"), (2.5, "250%")]
)
def test_a_spread_just_above_the_limit_is_not_printed_as_the_limit(seen: float, text: str) -> None:
    """`differ by 15% of the median; more than 15% is noise` explained nothing."""
    assert noisy._beyond(seen) == text
    digits = re.match(r"[0-9.]+", noisy._beyond(seen))
    assert digits is not None
    assert float(digits[0]) > 100 * LIMIT
