"""How many pairs a decision takes."""

from __future__ import annotations

import numpy as np
from assay.stats import need, signed_rank

LEVEL = 0.05


def test_three_pairs_have_a_scatter_to_go_by_and_two_have_none() -> None:
    scattered = np.array([-0.3, 0.3, 0.0])
    assert need.to_decide(scattered[:2], 0.05, LEVEL) == signed_rank.pairs_for(LEVEL)
    assert need.to_decide(scattered, 0.05, LEVEL) > signed_rank.pairs_for(LEVEL)
