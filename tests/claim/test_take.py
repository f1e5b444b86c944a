"""What claims take from their runs: arithmetic with bands."""

from __future__ import annotations

import math

import pytest
from assay.claim.take import TakeError, compare, evaluate, names
from assay.claim.value import ClaimValue
from hypothesis import given
from hypothesis import strategies as st

RUNS: dict[str, ClaimValue | list[ClaimValue]] = {
    "a.load.bandwidth": ClaimValue(10.0, 0.1),
    "b-4.bandwidth": ClaimValue(4.0, 0.2, ("size",)),
    "sweep.bandwidth": [ClaimValue(1.0), ClaimValue(3.0), ClaimValue(2.0)],
    "other.bandwidth": [ClaimValue(2.0), ClaimValue(3.0), ClaimValue(8.0)],
}
numbers = st.floats(min_value=0.1, max_value=1e6)


def leaf(name: str) -> ClaimValue | list[ClaimValue]:
    return RUNS[name]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.load.bandwidth", 10.0),
        ("a.load.bandwidth / b-4.bandwidth", 2.5),
        ("a.load.bandwidth - b-4.bandwidth - 1", 5.0),
        ("2 * a.load.bandwidth + 3 * (b-4.bandwidth - 1)", 29.0),
        ("12 / 3 / 2", 2.0),
        ("peak(sweep.bandwidth)", 3.0),
        ("least(sweep.bandwidth)", 1.0),
        ("at(sweep.bandwidth, 2)", 2.0),
        ("peak(sweep.bandwidth / other.bandwidth)", 1.0),
        ("peak(10 / sweep.bandwidth)", 10.0),
    ],
)
def test_arithmetic(text: str, expected: float) -> None:
    assert evaluate(text, leaf).number == pytest.approx(expected)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "sweep.bandwidth",
        "1 +",
        "(1",
        "1 2",
        "at(sweep.bandwidth, 3)",
        "mean(sweep.bandwidth)",
        "1 / 0",
        "1 ? 2",
        ")",
    ],
)
def test_what_cannot_be_computed_is_named(text: str) -> None:
    with pytest.raises(TakeError, match="expression"):
        evaluate(text, leaf)


def test_lists_of_different_lengths_do_not_join() -> None:
    with pytest.raises(TakeError, match="lists of 3 and 2"):
        evaluate("peak(sweep.x / two.x)", lambda name: [ClaimValue(1.0)] * (3 if name == "sweep.x" else 2))


def test_comparisons_give_both_sides() -> None:
    holds, left, right = compare("peak(sweep.bandwidth) >= 0.5 * b-4.bandwidth", leaf)
    assert holds
    assert (left.number, right.number) == (3.0, 2.0)


def test_names_are_found_for_the_runs_that_are_needed() -> None:
    assert names("peak(a-1.x) / (b.y.z + 2.5)") == ["a-1.x", "b.y.z"]


def test_what_is_extrapolated_stays_named() -> None:
    assert evaluate("a.load.bandwidth * b-4.bandwidth", leaf).extrapolated == ("size",)


@given(numbers, numbers, st.floats(0, 0.5), st.floats(0, 0.5))
def test_bands_of_products_and_quotients_add_in_squares(a: float, b: float, wide: float, wider: float) -> None:
    one, two = ClaimValue(a, wide), ClaimValue(b, wider)
    assert (one * two).width == pytest.approx(math.hypot(wide, wider))
    assert (one / two).width == pytest.approx(math.hypot(wide, wider))


@given(numbers, numbers, st.floats(0, 0.5))
def test_a_sum_is_never_wider_than_its_widest_part(a: float, b: float, wide: float) -> None:
    assert (ClaimValue(a, wide) + ClaimValue(b, wide)).width <= wide * (1 + 1e-9)
