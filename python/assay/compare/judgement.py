"""Three outcomes for a family of comparisons: different, equivalent, undecided.

Two proofs are asked for each: a rank test, corrected for the number of comparisons, and the bootstrap interval. The
absence of a difference is never concluded from a test that found none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.compare import blocks
from assay.stats import bootstrap, correction, need, signed_rank
from assay.stats.bootstrap import Interval

Floats = NDArray[np.float64]
Outcome = Literal["different", "equivalent", "undecided"]

LEVEL = 0.05
MARGIN = 0.02
FEWEST = 6
"""With fewer pairs the two-sided test cannot reach 5 %: 2 * (1/2)^5 = 6.25 %."""


@dataclass(frozen=True)
class Rules:
    """How sides are judged. `margin`, `drift` and `bound` are shares (0.02 is 2 %)."""

    margin: float = MARGIN
    level: float = LEVEL
    method: correction.Method = "holm"
    drift: float = 0.0
    """What the machine may have drifted between the sides where they were not interleaved."""
    bound: float | None = None
    """A loss that must be told from a smaller one."""


@dataclass(frozen=True)
class Evidence:
    """What the pairs of one comparison say, before it is known how many comparisons there are.

    Ratios are B over A. `p_different`: no difference beyond the drift. `p_equivalent`: one beyond the margin.
    `p_beyond`: a loss no larger than the bound; `p_within`: a loss as large as the bound, or larger.
    """

    pairs: int
    block: int
    likeness: float
    median: float
    interval: Interval
    p_different: float
    p_equivalent: float
    p_beyond: float
    p_within: float
    scatter: float
    needed: int

    @property
    def ratio(self) -> float:
        """Median ratio, B over A."""
        return math.exp(self.median)


@dataclass(frozen=True)
class Judgement:
    """Evidence with its outcome among all comparisons of the family."""

    evidence: Evidence
    outcome: Outcome
    reason: str
    p_different: float
    p_equivalent: float
    p_beyond: float
    p_within: float


def weigh(log_ratios: Floats, rules: Rules, *, cost: bool = False, comparisons: int = 1) -> Evidence:
    """Evidence of pairs in time order. `cost`: less is better, so that a loss is a ratio above one."""
    values = np.asarray(log_ratios, dtype=np.float64)
    block = blocks.length(values)
    tested = blocks.merged(values, block)
    drift, margin = math.log1p(rules.drift), math.log1p(rules.margin)
    interval = bootstrap.median_interval(values, block=block, level=rules.level)
    beyond, within = _loss(tested, rules, cost)
    level = rules.level / max(1, comparisons)
    return Evidence(
        pairs=len(values),
        block=block,
        likeness=blocks.likeness(values),
        median=float(np.median(values)),
        interval=Interval(interval.low - drift, interval.high + drift),
        p_different=_different(tested, drift),
        p_equivalent=_equivalent(tested, margin - drift),
        p_beyond=beyond,
        p_within=within,
        scatter=need.scale(values),
        needed=need.to_decide(values, margin, level) * block,
    )


def _different(values: Floats, drift: float) -> float:
    """Two-sided; with an allowance for drift, the smaller of two one-sided probabilities, doubled."""
    if drift == 0:
        return signed_rank.p_value(values)
    above = signed_rank.p_value(values, shift=drift, alternative="greater")
    below = signed_rank.p_value(values, shift=-drift, alternative="less")
    return min(1.0, 2 * min(above, below))


def _equivalent(values: Floats, margin: float) -> float:
    """Two one-sided tests (Schuirmann 1987): the larger of both probabilities."""
    if margin <= 0:
        return 1.0
    above = signed_rank.p_value(values, shift=-margin, alternative="greater")
    below = signed_rank.p_value(values, shift=margin, alternative="less")
    return max(above, below)


def _loss(values: Floats, rules: Rules, cost: bool) -> tuple[float, float]:
    """Probabilities for a loss beyond the bound, and for one within it."""
    if rules.bound is None:
        return 1.0, 1.0
    losses = values if cost else -values
    at, drift = loss_of(rules.bound, cost), math.log1p(rules.drift)
    beyond = signed_rank.p_value(losses, shift=at + drift, alternative="greater")
    within = signed_rank.p_value(losses, shift=at - drift, alternative="less")
    return beyond, within


def loss_of(bound: float, cost: bool) -> float:
    """A loss as a logarithm: 5 % more of a cost is log 1.05, 5 % less of a rate is -log 0.95."""
    return math.log1p(bound) if cost else -math.log1p(-bound)


def judge(family: Sequence[Evidence], rules: Rules) -> list[Judgement]:
    """Outcomes of all comparisons that are made together, each kind of claim corrected for their number."""
    columns = zip(*((e.p_different, e.p_equivalent, e.p_beyond, e.p_within) for e in family), strict=True)
    corrected = [correction.adjusted(list(column), rules.method) for column in columns]
    return [_judged(one, rules, values) for one, *values in zip(family, *corrected, strict=True)] if family else []


def _judged(evidence: Evidence, rules: Rules, corrected: Sequence[float]) -> Judgement:
    different, equivalent, beyond, within = corrected
    outcome, reason = _outcome(evidence, rules, different, equivalent)
    return Judgement(evidence, outcome, reason, different, equivalent, beyond, within)


def _outcome(evidence: Evidence, rules: Rules, different: float, equivalent: float) -> tuple[Outcome, str]:
    margin = math.log1p(rules.margin)
    if evidence.pairs // evidence.block < FEWEST:
        return "undecided", "few-pairs"
    if equivalent <= rules.level and -margin < evidence.interval.low and evidence.interval.high < margin:
        return "equivalent", "within-margin"
    if different <= rules.level and not evidence.interval.holds(0.0):
        return "different", "beyond-chance"
    return "undecided", "scatter"
