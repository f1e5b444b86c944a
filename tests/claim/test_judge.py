"""Whether a figure counts as reproduced."""

from __future__ import annotations

import pytest
from assay.claim.drop import drop_s
from assay.claim.judge import judge, summary
from assay.claim.model import Claim
from assay.claim.value import ClaimValue


def claim(published: float | list[float], given: str = "", setup: str = "") -> Claim:
    return Claim(id="x", setup=setup, metric="m", published=published, unit="-", take="r.bandwidth", given=given)


@pytest.mark.parametrize(
    ("published", "modelled", "verdict", "error"),
    [
        (10.0, ClaimValue(10.9), "reproduced", 0.09),
        (10.0, ClaimValue(12.0, 0.25), "reproduced", 0.2),
        (10.0, ClaimValue(12.0, 0.1), "not reproduced", 0.2),
        ([8.0, 12.0], ClaimValue(9.0), "reproduced", 0.0),
        ([8.0, 12.0], ClaimValue(15.0), "not reproduced", 0.25),
        (10.0, ClaimValue(30.0, 9.0), "not reproduced", 2.0),
    ],
)
def test_close_or_inside_the_band(
    published: float | list[float], modelled: ClaimValue, verdict: str, error: float
) -> None:
    (outcome,) = judge([claim(published)], [modelled])
    assert outcome.verdict == verdict
    assert outcome.error == pytest.approx(error)


def test_far_off_but_in_order_is_direction_only() -> None:
    claims = [claim(10.0), claim(20.0)]
    assert [o.verdict for o in judge(claims, [ClaimValue(20.0), ClaimValue(40.0)])] == ["direction only"] * 2
    assert [o.verdict for o in judge(claims, [ClaimValue(40.0), ClaimValue(30.0)])] == ["not reproduced"] * 2


def test_a_ratio_that_may_be_one_has_no_direction() -> None:
    claims = [claim(0.9, setup="few"), claim(0.1, setup="many")]
    assert judge(claims, [ClaimValue(0.9), ClaimValue(0.8, 0.3)])[1].verdict == "not reproduced"
    assert judge(claims, [ClaimValue(0.9), ClaimValue(0.5, 0.3)])[1].verdict == "direction only"


def test_figures_that_tie_have_no_order() -> None:
    assert judge([claim(10.0), claim(10.2)], [ClaimValue(20.0), ClaimValue(40.0)])[0].verdict == "not reproduced"


def test_what_was_not_attempted_says_why_and_counts_in_no_error() -> None:
    outcomes = judge(
        [claim(10.0), claim(10.0), claim(5.0, given="a rate")], ["no such twin", ClaimValue(11.0), ClaimValue(9.0)]
    )
    assert (outcomes[0].verdict, outcomes[0].reason) == ("not attempted", "no such twin")
    found = summary(outcomes)
    assert (found.claims, found.attempted, found.reproduced) == (3, 2, 1)
    assert found.median_error == pytest.approx(0.1)
    assert found.within_quarter == 1.0


def test_only_what_was_predicted_counts() -> None:
    known = claim(10.0).model_copy(update={"calibrated": "the drive"})
    again = claim(10.0).model_copy(update={"repeats": "table 2"})
    claims = [claim(10.0), known, again, claim(5.0, given="a rate"), claim(20.0)]
    found = summary(
        judge(
            claims, [ClaimValue(12.0, 0.3), ClaimValue(10.0), ClaimValue(10.0), ClaimValue(5.0), ClaimValue(40.0, 0.1)]
        )
    )
    assert (found.inputs, found.calibrated, found.repeats, found.predicted) == (1, 1, 1, 2)
    assert (found.reproduced, found.direction_only, found.not_reproduced) == (1, 1, 0)
    assert found.median_error == pytest.approx(0.6)
    assert (found.within_quarter, found.inside_band) == (0.5, 0.5)


def series(*rates: float) -> list[dict[str, float]]:
    return [{"at_s": index + 1.0, "length_s": 1.0, "bytes": rate} for index, rate in enumerate(rates)]


def test_a_fall_is_found_where_it_begins() -> None:
    assert drop_s(series(*[100.0] * 20, *[40.0] * 20)) == 20.0


@pytest.mark.parametrize("rates", [[100.0] * 40, [100.0] * 20 + [40.0, 100.0] * 10, [], [100.0, 10.0]])
def test_a_dip_is_no_fall(rates: list[float]) -> None:
    assert drop_s(series(*rates)) is None
