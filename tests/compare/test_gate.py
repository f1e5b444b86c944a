"""Where a bound is met exactly, nothing is shown; and what has no figure is never the worst."""

from __future__ import annotations

import math
from typing import Any

import pytest
from assay.compare import bands, gate
from assay.compare.judgement import Judgement, Rules
from assay.stats.bootstrap import Interval

from compare.runs import comparison, line, pair, pairs, raw, run
from compare.test_figures import evidence

HALF = math.log(2.0)
"""A loss of half, as a logarithm."""


def standing(found: gate.Gate) -> str:
    (name,) = (name for name in ("slower", "within", "undecided") if getattr(found, name))
    return name


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [(250.0, 500.0, "undecided"), (250.0, 499.0, "slower"), (500.0, 1500.0, "undecided"), (501.0, 1500.0, "within")],
)
def test_bands_that_end_at_the_bound_leave_it_open(low: float, high: float, said: str) -> None:
    a, b = run(1000.0, provenance="modelled"), run((low + high) / 2, provenance="modelled")
    raw(b)["classes"][0]["ops_rate"]["band"] = {"low": low, "high": high}
    one = line([pair(a, b)], provenance=("modelled", "modelled"), reason=bands.OVERLAP)
    assert standing(gate.gate(comparison(one), 0.5)) == said


@pytest.mark.parametrize(
    ("interval", "p", "said"),
    [
        ((-2.0, -HALF), (0.05, 1.0), "undecided"),
        ((-2.0, -0.7), (0.05, 1.0), "slower"),
        ((-HALF, 0.1), (1.0, 0.05), "undecided"),
        ((-0.69, 0.1), (1.0, 0.05), "within"),
        # The interval shows a loss, and the test shows none.
        ((-2.0, -0.7), (0.06, 1.0), "undecided"),
        # The test shows it, and the interval does not.
        ((-2.0, 0.1), (0.01, 1.0), "undecided"),
        ((-2.0, 0.1), (1.0, 0.01), "undecided"),
    ],
)
def test_an_interval_that_ends_at_the_bound_leaves_it_open(interval: Any, p: tuple[float, float], said: str) -> None:
    judged = Judgement(evidence(interval=Interval(*interval)), "different", "beyond-chance", 0.01, 1.0, *p)
    one = line(pairs([1000.0], [400.0]), judgement=judged, outcome="different", reason="beyond-chance")
    assert standing(gate.gate(comparison(one, rules=Rules(bound=0.5)), 0.5)) == said


def test_the_worst_is_the_one_with_the_largest_change() -> None:
    bare, bad = line(cell="bare"), line(pairs([1000.0], [900.0]), cell="bad")
    for lines in ((bare, bad), (bad, bare)):
        said = gate.Gate(0.05, lines, (), ()).sentence
        assert "by more than 5 %: bad, scan, operations per second and 1 more." in said
    assert gate.Gate(0.05, (bad, bad, bare), (), ()).sentence.endswith(
        "bad, scan, operations per second and 2 more. Modelled: what the bands leave open shows it, and no test."
    )


def test_a_model_is_named_where_any_figure_is_one() -> None:
    judged = Judgement(evidence(), "different", "beyond-chance", 0.01, 1.0, 0.01, 1.0)
    tested = line(pairs([1000.0], [900.0]), judgement=judged)
    assert "Modelled" not in gate.Gate(0.05, (tested,), (tested,), ()).sentence
    assert "Modelled" in gate.Gate(0.05, (tested,), (line(),), ()).sentence
