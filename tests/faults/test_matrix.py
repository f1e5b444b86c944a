"""Commands, faults and phases of the matrix, and a sample of it; `./assay test faults` runs it whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from . import faultfs, matrix

_SEED, _BUDGET_S = 5, 30.0


def test_there_are_combinations_enough_and_the_order_leaves_none_out() -> None:
    assert len(list(matrix.combinations())) >= 500
    assert sorted(map(str, matrix.sampled(3))) == sorted(map(str, matrix.combinations()))


@pytest.mark.usefixtures("assayer")
def test_a_sample_ends_as_it_must(tmp_path: Path) -> None:
    faultfs.program()
    totals = matrix.run(tmp_path, matrix.sampled(_SEED), _BUDGET_S, _SEED)
    assert totals.reached
    assert not totals.wrong(), f"seed {_SEED}: " + "\n".join(totals.wrong())
