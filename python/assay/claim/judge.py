"""Whether a twin reproduces what was published."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from assay.claim.model import Claim
from assay.claim.value import ClaimValue
from assay.error import AssayError

Verdict = Literal["reproduced", "direction only", "not reproduced", "not attempted"]

# Closer than this counts as reproduced however narrow the twin's own band is: more nobody reads from a printed figure.
CLOSE = 0.10
# Published figures closer than this to each other have no order that could be kept.
TIE = 0.05
# A wider band says too little to have reproduced anything.
WIDEST = 1.0


@dataclass(frozen=True)
class JudgedClaim:
    """A claim beside what a twin gives for it, in the claim's unit.

    `error` is relative to the nearest end of the published range, 0 inside; None where nothing was attempted.
    """

    claim: Claim
    modelled: ClaimValue | None
    verdict: Verdict
    error: float | None = None
    reason: str = ""


def error_of(claim: Claim, modelled: ClaimValue) -> float:
    """Relative distance to the published figure; 0 inside a published range."""
    low, high = _published(claim)
    if low <= modelled.number <= high:
        return 0.0
    nearest = low if modelled.number < low else high
    return modelled.number / nearest - 1 if nearest else float("inf")


def judge(claims: Sequence[Claim], modelled: Sequence[ClaimValue | str]) -> list[JudgedClaim]:
    """The outcome of each claim; a text in `modelled` says why the twin gave nothing."""
    return [_outcome(index, claims, modelled) for index in range(len(claims))]


def _outcome(index: int, claims: Sequence[Claim], modelled: Sequence[ClaimValue | str]) -> JudgedClaim:
    claim, value = claims[index], modelled[index]
    if isinstance(value, str):
        return JudgedClaim(claim, None, "not attempted", reason=value)
    error = error_of(claim, value)
    low, high = _published(claim)
    inside = value.low <= high and low <= value.high and value.width <= WIDEST
    if abs(error) <= CLOSE + 1e-9 or inside:
        return JudgedClaim(claim, value, "reproduced", error)
    if _keeps_side(claim, value) and _keeps_order(index, claims, modelled):
        return JudgedClaim(claim, value, "direction only", error)
    return JudgedClaim(claim, value, "not reproduced", error)


def _keeps_order(index: int, claims: Sequence[Claim], modelled: Sequence[ClaimValue | str]) -> bool:
    """The figure stands to its fellows (same claim, metric, unit) as the published one does; there is at least one."""
    compared, own = 0, modelled[index]
    for other, value in enumerate(modelled):
        if isinstance(own, str) or isinstance(value, str) or not _fellows(index, other, claims):
            continue
        order = _order(_middle(claims[index]), _middle(claims[other]))
        if order == 0:
            continue
        compared += 1
        if (own.number > value.number) != (order > 0):
            return False
    return compared > 0


def _keeps_side(claim: Claim, value: ClaimValue) -> bool:
    """A ratio has a direction of its own: the whole band lies on the published side of 1."""
    if claim.unit != "-":
        return True
    return value.low > 1 if _middle(claim) > 1 else value.high < 1


def _fellows(index: int, other: int, claims: Sequence[Claim]) -> bool:
    one, two = claims[index], claims[other]
    return index != other and (one.id, one.metric, one.unit) == (two.id, two.metric, two.unit)


def _order(one: float, other: float) -> int:
    if abs(one - other) <= TIE * max(abs(one), abs(other)):
        return 0
    return 1 if one > other else -1


def _middle(claim: Claim) -> float:
    low, high = _published(claim)
    return (low + high) / 2


def _published(claim: Claim) -> tuple[float, float]:
    if claim.range is None:
        raise AssayError(f"the claim {claim.id} ({claim.setup}) has no published figure", hint="correct catalog/claims")
    return claim.range


@dataclass(frozen=True)
class Summary:
    """How a study came out. Verdicts and errors are of what was predicted, and of no price.

    What was an input (a rate asked for), what a parameter was made from, and what was counted before are told apart.
    """

    claims: int
    attempted: int
    inputs: int
    calibrated: int
    repeats: int
    prices: int
    predicted: int
    reproduced: int
    direction_only: int
    not_reproduced: int
    median_error: float | None
    within_quarter: float | None
    inside_band: float | None


def summary(outcomes: Sequence[JudgedClaim]) -> Summary:
    """Counts over all outcomes; of those predicted verdicts, median error, shares within 25 % and in the band."""
    attempted = [outcome for outcome in outcomes if outcome.verdict != "not attempted"]
    modelled = [outcome for outcome in attempted if outcome.claim.take]
    kinds = {word: sum(outcome.claim.counts_as == word for outcome in modelled) for word in _NOT_PREDICTED}
    found = predicted(outcomes)
    errors = [abs(outcome.error) for outcome in found if outcome.error is not None]
    count = {word: sum(outcome.verdict == word for outcome in found) for word in ("reproduced", "direction only")}
    return Summary(
        claims=len(outcomes),
        attempted=len(attempted),
        inputs=kinds["input"],
        calibrated=kinds["calibrated"],
        repeats=kinds["repeat"],
        prices=len(attempted) - len(modelled),
        predicted=len(found),
        reproduced=count["reproduced"],
        direction_only=count["direction only"],
        not_reproduced=len(found) - count["reproduced"] - count["direction only"],
        median_error=statistics.median(errors) if errors else None,
        within_quarter=sum(error <= 0.25 for error in errors) / len(errors) if errors else None,
        inside_band=sum(map(is_inside, found)) / len(found) if found else None,
    )


_NOT_PREDICTED = ("input", "calibrated", "repeat")


def predicted(outcomes: Sequence[JudgedClaim]) -> list[JudgedClaim]:
    """What twins gave without having been told."""
    return [
        outcome
        for outcome in outcomes
        if outcome.verdict != "not attempted" and outcome.claim.take and outcome.claim.counts_as == "predicted"
    ]


def is_inside(outcome: JudgedClaim) -> bool:
    """The published figure, or a part of its range, lies in the twin's band."""
    if outcome.modelled is None:
        return False
    low, high = _published(outcome.claim)
    return outcome.modelled.low <= high and low <= outcome.modelled.high
