"""What comparisons say, word by word."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
from assay.compare import folder, history, match, words
from assay.compare.change import FigureChange
from assay.compare.judgement import Rules
from assay.stats import need
from assay.stats.bootstrap import Interval


@pytest.mark.parametrize(
    ("ratio", "said"),
    [
        (1.031, "+3.1 %"),
        (0.996, "-0.4 %"),
        (1.00095, "+0.1 %"),
        (1.0009, "+0.09 %"),
        (0.99906, "-0.09 %"),
        (2.999, "+199.9 %"),
        (3.0, "3 times"),
        (4.25, "4.25 times"),
        (1 / 3, "1/3 of it"),
        (0.334, "-66.6 %"),
        (0.3, "1/3.33 of it"),
        (0.1, "1/10 of it"),
        (1.0, "+0.00 %"),
        (0.9999999, "+0.00 %"),
    ],
)
def test_a_ratio_is_a_change_and_a_large_one_a_multiple(ratio: float, said: str) -> None:
    assert words.change(ratio) == said
    assert words.log_percent(math.log(ratio)) == said


def line(**given: Any) -> Any:
    shown: dict[str, Any] = {
        "pairs": [None] * 12,
        "log_ratios": [0.1] * 12,
        "bounds": (0.9, 1.1),
        "metric": "ops_rate",
        "ratio": 0.9,
        "better": "A",
        "reason": "beyond-chance",
        "provenance": ("measured", "measured"),
        "dropped": (),
        "alone": {"A": 0, "B": 0},
        "suspect": {},
        "judgement": SimpleNamespace(p_different=0.012),
        "evidence": SimpleNamespace(block=1, needed=20, interval=Interval(-0.1, 0.1)),
        "design": SimpleNamespace(said="B ran after A"),
    }
    return SimpleNamespace(**(shown | given))


def said(comparisons: int = 1, **given: Any) -> str:
    return words.sentence(line(**given), SimpleNamespace(rules=Rules(), tested=comparisons))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("bounds", "text"),
    [
        ((0.9, 1.1), "-10.0 % to +10.0 %"),
        ((1.0, 3.0), "1 to 3 times"),
        ((2.5, 2.9), "+150.0 % to +190.0 %"),
        ((0.99, 3.5), "-1.0 % to 3.5 times"),
        ((1 / 3, 1.0), "1/3 to 1/1 of it"),
        ((0.2, 0.9), "1/5 to 1/1.11 of it"),
        ((0.2, 1.1), "1/5 of it to +10.0 %"),
        (None, ""),
    ],
)
def test_an_interval_is_said_as_its_ends_are(bounds: Any, text: str) -> None:
    assert words.span(line(bounds=bounds)) == text


def test_of_too_few_pairs_the_range_is_said() -> None:
    assert words.span(line(pairs=[None] * 5, log_ratios=[math.log(0.9), math.log(1.2)])) == "from -10.0 % to +20.0 %"
    assert words.span(line(pairs=[None] * 5, log_ratios=[])) == ""
    assert words.span(line(pairs=[None] * 6)) == "-10.0 % to +10.0 %"


def test_a_probability_is_said_to_four_places() -> None:
    assert [words.p_said(value) for value in (0.012, 1e-4, 0.99e-4)] == ["p = 0.012", "p = 0.0001", "p < 0.0001"]
    assert (words.percent(0.02), words.percent(0.025)) == ("2 %", "2.5 %")


def test_what_differs_and_what_is_equivalent() -> None:
    seen = "operations per second -10.0 % in B (-10.0 % to +10.0 %)"
    assert said() == f"Different, A is better: {seen}; 12 pairs, corrected p = 0.012."
    same = said(reason="within-margin", judgement=SimpleNamespace(p_different=0.0501))
    assert same.startswith("Equivalent: ")
    assert same.endswith("lies within 2 %.")
    shown = said(reason="within-margin", judgement=SimpleNamespace(p_different=0.05))
    assert shown.endswith("A difference is there, and it is smaller than what was said to matter.")


def test_how_many_pairs_would_decide() -> None:
    def needed(count: int, **given: Any) -> str:
        return said(evidence=SimpleNamespace(block=1, needed=count, interval=Interval(-0.1, 0.1)), **given)

    assert "about 20 fresh pairs would decide it" in needed(20, reason="scatter")
    assert f"about {need.MOST - 1} fresh" in needed(need.MOST - 1, reason="scatter")
    assert f"more than {need.MOST} pairs would be needed" in needed(need.MOST, reason="scatter")
    assert "fresh" not in said(reason="scatter", evidence=None)
    few: dict[str, Any] = {"reason": "few-pairs", "pairs": [None] * 5, "log_ratios": [0.0] * 5}
    assert "Too few: 6 pairs at least can reach 5 %." in said(**few)
    assert "1 pair," in said(**few | {"pairs": [None], "bounds": None})
    assert "Too few: 9 pairs at least can reach 5 % among 10 comparisons." in said(10, **few)
    assert "6 pairs at least can reach 5 %." in said(1, **few)
    # Two comparisons at 20 % ask for five pairs each, fewer than any test is made of.
    wide: Any = SimpleNamespace(rules=Rules(level=0.2), tested=2)
    assert "Too few: 6 pairs at least can reach 20 %." in words.sentence(line(**few), wide)
    assert needed(20, reason="few-pairs", pairs=[None] * 6).endswith("; at this scatter about 20 would decide.")


def test_what_the_order_leaves_open() -> None:
    apart = said(reason="not-interleaved")
    assert "no more than the scatter explains; but B ran after A, so drift of the machine cannot be told" in apart
    beyond = SimpleNamespace(block=1, needed=9, interval=Interval(0.01, 0.1))
    assert ", more than the scatter explains; but" in said(reason="fixed-order", evidence=beyond)
    assert "so an effect of the order cannot" in said(reason="fixed-order", evidence=beyond)
    assert "no more than" in said(reason="fixed-order", evidence=None)


def test_models_are_named() -> None:
    assert "but both sides are modelled;" in said(reason="provenance", provenance=("modelled", "modelled"))
    assert "but A is modelled and B is measured;" in said(reason="provenance", provenance=("modelled", "measured"))


def test_what_does_not_count_is_said_at_the_end() -> None:
    def one(side: str) -> Any:
        return SimpleNamespace(side=side, reason="errors: It failed.")

    assert said(dropped=[one("B")]).endswith(
        " 1 pair left out, all through B, which is a difference too (errors: It failed)."
    )
    assert said(dropped=[one("A"), one("B")]).endswith(" 2 pairs left out (errors: It failed).")
    assert said(dropped=[one("both")]).endswith(" 1 pair left out (errors: It failed).")
    assert said(alone={"A": 1, "B": 0}).endswith(" 1 run without a partner.")
    assert said(alone={"A": 1, "B": 2}).endswith(" 3 runs without a partner.")
    assert said(suspect={"not-steady": 2, "errors": 1}).endswith(" Suspect records: errors in 1, not-steady in 2.")
    alike = SimpleNamespace(block=2, needed=9, interval=Interval(0.01, 0.1))
    assert said(evidence=alike).endswith(" Neighbouring pairs are alike, so they count in blocks of 2.")
    assert said(provenance=("emulated", "emulated")).endswith(" Emulated on stand-in hardware.")
    assert said(provenance=("emulated", "emulated"), evidence=None).endswith("p = 0.012.")


def test_a_side_that_has_nothing_in_common_is_counted() -> None:
    def side(*cells: tuple[str, str]) -> Any:
        return SimpleNamespace(
            rows=[SimpleNamespace(cell=SimpleNamespace(id=name, study=study)) for name, study in cells]
        )

    assert match._seen(side()) == "no record"
    assert match._seen(side(("a-r1", "scan"), ("a-r2", "scan"))) == "1 cell of scan"
    assert match._seen(side(("a-r1", "scan"), ("b-r1", "log"))) == "2 cells of log, scan"


def test_a_change_between_folders_is_said_with_the_neighbours_that_bound_it() -> None:
    steps = [SimpleNamespace(name=name) for name in "abcdefgh"]
    series: Any = SimpleNamespace(metric="ops_rate", steps=steps)
    found = FigureChange(at=4, first=3, last=5, shift=math.log(1.2), low=math.log(1.1), high=math.log(1.3), p=0.002)
    text = history._said(series, found, words.change)
    assert text == "Better from e on: +20.0 % (+10.0 % to +30.0 %), p = 0.002; it lies between c and f."
    cost: Any = SimpleNamespace(metric="service_p99", steps=steps)
    early = FigureChange(at=1, first=0, last=1, shift=math.log(1.2), low=0.0, high=0.1, p=0.002)
    assert history._said(cost, early, words.change).startswith("Worse from b on: ")
    assert history._said(cost, early, words.change).endswith("it lies between a and b.")


def test_what_is_still_to_come_of_a_paired_run() -> None:
    def cell(state: str, codes: list[str] | None = None) -> Any:
        record = None if codes is None else {"verdict": {"reasons": [{"code": code} for code in codes]}}
        return SimpleNamespace(state=state, record=record)

    cells = [cell("none"), cell("started"), cell("interrupted"), cell("finished"), cell("failed")]
    cells += [cell("finished", []), cell("finished", ["not-steady", "interrupted"]), cell("finished", ["errors"])]
    assert [folder._to_come(one) for one in cells] == [True, True, True, False, False, False, True, False]
    assert folder.unfinished(SimpleNamespace(planned=cells), SimpleNamespace(planned=cells[:2])) == 6  # type: ignore[arg-type]


def test_half_of_a_pair_is_run_again_unless_the_other_half_is_refused() -> None:
    def pair(*refusals: str) -> Any:
        return tuple(SimpleNamespace(id=f"c{number}", refusal=refusal) for number, refusal in enumerate(refusals))

    assert folder._partnerless(pair("", ""), {"c0": "finished"}) == ["c0"]
    assert folder._partnerless(pair("", ""), {"c0": "failed", "c1": "finished"}) == ["c1"]
    assert folder._partnerless(pair("", ""), {"c0": "finished", "c1": "finished"}) == []
    assert folder._partnerless(pair("", ""), {}) == []
    assert folder._partnerless(pair("", "no room"), {"c0": "finished"}) == []
