"""What the matrix of commands, faults and phases consists of; `./assay test faults` runs it."""

from __future__ import annotations

from . import matrix


def test_there_are_combinations_enough_and_the_order_leaves_none_out() -> None:
    assert len(list(matrix.combinations())) >= 500
    assert sorted(map(str, matrix.sampled(3))) == sorted(map(str, matrix.combinations()))
