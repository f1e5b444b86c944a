"""All comparisons of two sides, judged together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.compare import bands, conditions, design, judgement, metric
from assay.compare.conditions import Difference
from assay.compare.error import CompareError
from assay.compare.judgement import Rules
from assay.compare.line import Line
from assay.compare.match import Match, match
from assay.compare.pair import Pair, sorted_out, suspicions
from assay.compare.side import Side
from assay.stats import correction, signed_rank


@dataclass(frozen=True)
class Comparison:
    """Two sides, every comparison of them, and all in which they differ."""

    a: Side
    b: Side
    rules: Rules
    lines: tuple[Line, ...]
    environment: tuple[Difference, ...]
    only: Mapping[str, tuple[str, ...]]
    left_out: tuple[str, ...]

    @property
    def tested(self) -> int:
        """Comparisons that were tested together, and corrected for their number."""
        return sum(1 for line in self.lines if line.judgement is not None)

    @property
    def problems(self) -> list[str]:
        """What is wrong with the folders, and what had no partner."""
        found = list(dict.fromkeys([*self.a.problems, *self.b.problems]))
        for side, names in self.only.items():
            if names:
                found.append(f"only {side} has: {'; '.join(names[:5])}" + (" and more" if len(names) > 5 else ""))
        return found

    def count(self, outcome: str) -> int:
        """Comparisons with an outcome."""
        return sum(1 for line in self.lines if line.outcome == outcome)


def compare(
    a: Side,
    b: Side,
    rules: Rules,
    *,
    metrics: Sequence[str] | Callable[[Match], Sequence[str]] = (),
    by_lot: bool = False,
    unfinished: bool = False,
) -> Comparison:
    """Compares two sides in `metrics`, which may depend on the cell; in the usual ones without.

    `by_lot`: the order in each pair was drawn. `unfinished`: pairs are still to come, so that nothing is judged yet;
    looking at part of them and going on would be a second chance for a false alarm.
    """
    matched = match(a, b)
    named = () if callable(metrics) else metric.canonical(metrics, [*a.rows, *b.rows])
    lines: list[Line] = []
    left_out: list[str] = []
    for one in matched.matches:
        found, missing = _lines(one, metrics(one) if callable(metrics) else named, by_lot)
        lines += found
        left_out += missing
    if not lines:
        raise _nothing(left_out)
    environment = tuple(conditions.environment(a, b))
    return Comparison(a, b, rules, tuple(_judged(lines, rules, unfinished)), environment, matched.only, tuple(left_out))


def _nothing(left_out: Sequence[str]) -> CompareError:
    seen = f": {left_out[0]}" if left_out else ""
    return CompareError(f"there is nothing to compare{seen}", "name another metric with --metric, or measure longer")


def _lines(one: Match, wanted: Sequence[str], by_lot: bool) -> tuple[list[Line], list[str]]:
    """A line for each metric that both sides have, and a sentence for each that is left out."""
    kept, dropped = sorted_out(one.pairs)
    shape = design.of(kept, by_lot=by_lot)
    suspect, asked = suspicions(kept), conditions.asked([p.a for p in one.pairs], [p.b for p in one.pairs])
    lines, missing = [], []
    for name in wanted or metric.usual(one.pairs):
        pairs = [pair for pair in kept if pair.log_ratio(name) is not None]
        why = _absent(one.pairs, kept, pairs, name)
        if why:
            missing.append(f"{one.cell}, {one.class_name}: {why}")
            continue
        ends = one.pairs[0] if one.pairs else None
        provenance = (ends.a.provenance, ends.b.provenance) if ends else ("measured", "measured")
        line = Line(one.cell, one.class_name, name, tuple(pairs), tuple(dropped), shape, provenance, one.alone)
        lines.append(replace(line, suspect=suspect, asked=tuple(asked)))
    return lines, missing


def _absent(everything: Sequence[Pair], kept: Sequence[Pair], having: Sequence[Pair], name: str) -> str:
    """Why a metric is left out; empty where it is compared, or stands there as a comparison without a pair."""
    if kept and not having:
        return f"{name} was not measured on both sides"
    if kept and not metric.supported(having, name):
        return f"{name} has fewer than 100 operations beyond it in some run; a longer window would give it"
    return "" if everything else "no repeat has its like on the other side"


def _judged(lines: Sequence[Line], rules: Rules, unfinished: bool) -> list[Line]:
    """Lines with outcomes: those that a test may speak about are corrected for their number, and for no others."""
    obstacles = {id(line): "unfinished" if unfinished and line.pairs else _obstacle(line, rules) for line in lines}
    testable = [line for line in lines if not obstacles[id(line)]]
    evidence = {id(line): _evidence(line, rules, len(testable)) for line in lines}
    family = [found for line in testable if (found := evidence[id(line)]) is not None]
    judged = dict(zip((id(line) for line in testable), judgement.judge(family, rules), strict=True))
    told: list[Line] = []
    for line in lines:
        one = judged.get(id(line))
        outcome, reason = (one.outcome, one.reason) if one is not None else ("undecided", obstacles[id(line)])
        if reason == "provenance":
            outcome, reason = bands.judged(line, rules.margin)
        if one is not None and reason == "scatter" and _out_of_reach(line, rules, len(testable)):
            reason = "few-pairs"
        told.append(replace(line, evidence=evidence[id(line)], judgement=one, outcome=outcome, reason=reason))
    return told


def _out_of_reach(line: Line, rules: Rules, comparisons: int) -> bool:
    """Whether so few pairs could not pass the correction even if all agreed."""
    return signed_rank.smallest(len(line.pairs)) > rules.level / comparisons


def _obstacle(line: Line, rules: Rules) -> str:
    """Why no test may speak; empty where one may."""
    if not line.pairs:
        return "no-pairs"
    if line.mixed:
        return "provenance"
    if len(line.pairs) < judgement.FEWEST:
        return "few-pairs"
    if not line.design.takes_out_drift and not rules.drift:
        return "not-interleaved" if line.design.kind == "apart" else "fixed-order"
    return ""


def _evidence(line: Line, rules: Rules, comparisons: int) -> judgement.Evidence | None:
    """Evidence of the pairs; none where they are no sample, or fewer than two."""
    if len(line.pairs) < 2 or line.mixed:
        return None
    drift = 0.0 if line.design.takes_out_drift else rules.drift
    values = np.asarray(line.log_ratios)
    return judgement.weigh(values, replace(rules, drift=drift), cost=line.cost, comparisons=comparisons)


def correction_said(comparison: Comparison) -> str:
    """The correction in words."""
    count = comparison.tested
    if count == 0:
        return "No test speaks about any of these comparisons"
    noun = "comparison was" if count == 1 else "comparisons were"
    return f"{count} {noun} tested together; {correction.NAMES[comparison.rules.method]}"
