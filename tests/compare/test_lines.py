"""Comparisons judged together: what keeps a test from speaking, and what is left out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from assay.compare import comparison as comparisons
from assay.compare.comparison import Comparison, compare
from assay.compare.design import Design
from assay.compare.document import document
from assay.compare.error import CompareError
from assay.compare.judgement import Rules, weigh
from assay.compare.line import Line
from assay.compare.match import Match
from assay.stats.bootstrap import Interval

from compare.runs import comparison, line, pairs, run, side
from compare.test_figures import close, evidence

RATES = [1000.0, 1300.0, 800.0, 1250.0, 770.0, 1010.0, 1280.0, 790.0]


def compared(count: int, a: Any = None, b: Any = None, rules: Rules | None = None, **asked: Any) -> Comparison:
    found = pairs(RATES[:count], RATES[::-1][:count])
    return compare(
        side("A", *(a or [one.a for one in found])), side("B", *(b or [one.b for one in found])), rules or Rules(),
        **({"metrics": ["ops_rate"]} | asked),
    )  # fmt: skip


def test_what_only_one_side_has_is_named_up_to_five() -> None:
    names = tuple("abcdef")
    assert comparison(only={"A": names[:5], "B": ()}).problems == ["only A has: a; b; c; d; e"]
    assert comparison(only={"A": (), "B": names}).problems == ["only B has: a; b; c; d; e and more"]
    both = comparison(a=side("A", problems=("torn", "late")), b=side("B", problems=("late",)))
    assert both.problems == ["torn", "late"]


def test_comparisons_are_counted_by_outcome_and_by_whether_a_test_spoke() -> None:
    judged: Any = object()
    found = comparison(line(outcome="different", judgement=judged), line(outcome="different"), line())
    assert (found.tested, found.count("different"), found.count("undecided"), found.count("equivalent")) == (1, 2, 1, 0)
    assert comparisons.correction_said(comparison(line())) == "No test speaks about any of these comparisons"
    assert comparisons.correction_said(found).startswith("1 comparison was tested together; Holm: ")
    two = comparison(*[line(judgement=judged)] * 2, rules=Rules(method="bh"))
    assert comparisons.correction_said(two).startswith("2 comparisons were tested together; Benjamini-Hochberg: ")


def test_one_pair_is_compared_and_the_order_is_drawn_only_where_it_is_said() -> None:
    (single,) = compared(1).lines
    assert (single.reason, single.design.kind, single.evidence) == ("few-pairs", "single", None)
    assert compared(2).lines[0].design.kind == "interleaved"
    assert compared(2, by_lot=True).lines[0].design.kind == "paired"


def test_a_test_speaks_from_six_pairs_on_and_evidence_is_seen_from_two() -> None:
    assert [compared(count).lines[0].reason for count in (2, 5, 6)] == ["few-pairs", "few-pairs", "scatter"]
    assert [compared(count).lines[0].evidence is None for count in (1, 2)] == [True, False]
    assert compared(6).tested == 1


def test_where_the_correction_is_out_of_reach_the_pairs_are_too_few() -> None:
    """All of six on one side are 3.1 %: enough for one comparison at 5 %, and not for two."""
    found = compared(6, metrics=["ops_rate", "bandwidth"])
    assert [one.reason for one in found.lines] == ["few-pairs", "few-pairs"]
    assert compared(6).lines[0].reason == "scatter"
    assert [one.reason for one in compared(8, metrics=["ops_rate", "bandwidth"]).lines] == ["scatter", "scatter"]
    six = line(pairs(RATES[:6], RATES[:6]))
    assert not comparisons._out_of_reach(six, Rules(level=2 / 32), 2)
    assert comparisons._out_of_reach(six, Rules(level=1.99 / 32), 2)


@pytest.mark.parametrize(
    ("given", "drift", "said"),
    [
        ({}, 0.0, ""),
        ({"pairs": ()}, 0.0, "no-pairs"),
        ({"provenance": ("modelled", "modelled")}, 0.0, "provenance"),
        ({"provenance": ("measured", "emulated")}, 0.0, "provenance"),
        ({"provenance": ("emulated", "emulated")}, 0.0, ""),
        ({"design": Design("apart", 8, 0)}, 0.0, "not-interleaved"),
        ({"design": Design("fixed-order", 8, 0)}, 0.0, "fixed-order"),
        ({"design": Design("interleaved", 4, 4)}, 0.0, ""),
        ({"design": Design("apart", 8, 0)}, 0.1, ""),
    ],
)
def test_what_keeps_a_test_from_speaking(given: Any, drift: float, said: str) -> None:
    shown = replace(line(pairs(RATES, RATES)), **given)
    assert comparisons._obstacle(shown, Rules(drift=drift)) == said


def test_drift_is_allowed_for_only_where_the_order_does_not_take_it_out() -> None:
    rules, given = Rules(drift=0.1), pairs(RATES, RATES[::-1])
    values = np.asarray(line(given).log_ratios)
    for kind, drift in (("paired", 0.0), ("apart", 0.1)):
        found = comparisons._evidence(line(given, design=Design(kind, 4, 4)), rules, 1)
        assert found == weigh(values, Rules(drift=drift))
    assert comparisons._evidence(line(given, provenance=("modelled", "modelled")), rules, 1) is None


def test_what_is_unfinished_is_said_of_pairs_alone() -> None:
    assert [one.reason for one in compared(6, unfinished=True).lines] == ["unfinished"]
    invalid = [run(1000.0, number, number, status={number: ("invalid", "errors")}) for number in (1, 2)]
    assert [one.reason for one in compared(2, a=invalid, unfinished=True).lines] == ["no-pairs"]
    assert compared(6).lines[0].reason == "scatter"


def test_a_metric_is_left_out_with_the_reason_why() -> None:
    two = pairs(RATES[:2], RATES[:2])
    few = pairs(RATES[:2], RATES[:2], supported=90.0)
    assert comparisons._absent(two, two, two, "service_p99") == ""
    assert comparisons._absent(two, two, (), "flush_p99") == "flush_p99 was not measured on both sides"
    assert comparisons._absent(few, few, few, "service_p99").startswith("service_p99 has fewer than 100 operations")
    assert comparisons._absent(two, (), (), "service_p99") == ""
    assert comparisons._absent((), (), (), "service_p99") == "no repeat has its like on the other side"
    one = Match("cell", "scan", ())
    assert comparisons._lines(one, ["ops_rate"], by_lot=True) == (
        [], ["cell, scan: no repeat has its like on the other side"],
    )  # fmt: skip
    with pytest.raises(CompareError, match="nothing to compare: threads 4, scan: flush_p99 was not"):
        compared(2, metrics=["flush_p99"])
    found = compared(2, metrics=["flush_p99", "ops_rate"])
    assert [len(found.lines), found.left_out] == [1, ("threads 4, scan: flush_p99 was not measured on both sides",)]


@pytest.mark.parametrize(
    ("metric", "b", "better"),
    [("ops_rate", 1001.0, "B"), ("ops_rate", 999.0, "A"), ("ops_rate", 1000.0, ""), ("ops_rate", 1500.0, "B"),
     ("service_p50", 1500.0, "B"), ("service_p50", 999.0, "A"), ("service_p50", 600.0, "A"),
     ("service_p50", 1000.0, "")],
)  # fmt: skip
def test_the_better_side_has_more_of_a_rate_and_less_of_a_time(metric: str, b: float, better: str) -> None:
    assert line(pairs([1000.0], [b]), metric).better == better


def test_sides_are_mixed_where_no_run_was_sampled_or_only_one() -> None:
    kinds = ("measured", "emulated", "modelled")
    assert [line(provenance=(one, one)).mixed for one in kinds] == [False, False, True]
    assert line(provenance=("measured", "modelled")).mixed
    assert line(provenance=("modelled", "measured")).mixed
    assert line(provenance=("emulated", "measured")).mixed


def test_a_line_without_a_pair_has_no_figure() -> None:
    bare = line()
    assert (bare.ratio, bare.better, bare.bounds, bare.medians()) == (None, "", None, (None, None))
    shown = bare.document("Nothing.")
    assert (shown["low"], shown["high"], shown["p_different"], shown["sentence"]) == (None, None, None, "Nothing.")


def test_a_line_is_printed_with_its_evidence_and_with_both_sides() -> None:
    seen = evidence(interval=Interval(-0.1, 0.2), p_different=0.03, block=2, needed=9, likeness=0.4)
    given: Line = line(pairs([1000.0, 1000.0], [900.0, 800.0]), evidence=seen, provenance=("measured", "emulated"))
    shown = given.document("Said.")
    assert (shown["a"], shown["b"], shown["ratio"]) == (1000.0, 850.0, close((0.9 * 0.8) ** 0.5))
    assert (shown["low"], shown["high"]) == (close(np.exp(-0.1)), close(np.exp(0.2)))
    assert shown["provenance"] == {"a": "measured", "b": "emulated"}
    assert (shown["p_different"], shown["p_different_corrected"]) == (None, None), "evidence that no test judged"
    assert (shown["block_of_pairs"], shown["pairs_needed"], shown["likeness_of_neighbours"]) == (2, 9, 0.4)
    assert shown["log_ratios"][1] == {
        "pair": 2, "first": "B", "value": close(np.log(0.8)), "a": "scan-0001-r2", "b": "scan-0001-r2",
    }  # fmt: skip


def test_a_document_has_its_version_and_the_drift_that_was_allowed() -> None:
    shown = document(comparison(line(), rules=Rules(drift=0.1)))
    assert (shown["version"], shown["drift_at_most"]) == (1, 0.1)
    assert document(comparison(line()))["drift_at_most"] is None
    assert shown["a"] == {"label": "side A", "directory": "a"}
    judged = compared(8, metrics=["ops_rate"])
    (one,) = document(judged)["comparisons"]
    found = judged.lines[0]
    assert found.evidence is not None
    assert found.judgement is not None
    assert one["p_different"] == found.evidence.p_different
    assert one["p_different_corrected"] == found.judgement.p_different
