"""Rows of the table of two sides, the sentence over them, and a comparison as cases."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from assay.compare import bands, cases, gate, questions, table, words
from assay.compare.judgement import Rules
from assay.compare.line import Line
from assay.compare.match import Match
from assay.compare.pair import Dropped
from assay.compare.view import forest, page
from assay.results.row import Row
from assay.stats import need
from assay.stats.bootstrap import Interval

from compare.runs import comparison, line, pair, pairs, raw, run, side
from compare.test_figures import close, evidence

MODELLED = ("modelled", "modelled")


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.512, "0.51"), (0.8, "0.80"), (0.9, "0.900"), (1.234, "1.23"), (1.6, "1.60"), (9.99, "9.99"), (10.0, "10"),
     (10.6, "11"), (12.34, "12")],
)  # fmt: skip
def test_a_ratio_has_two_digits_and_three_near_one(value: float, said: str) -> None:
    assert table.significant(value) == said


def banded(value: float, low: float | None = None, high: float | None = None) -> Row:
    one = run(value, provenance="modelled")
    if low is not None:
        raw(one)["classes"][0]["ops_rate"]["band"] = {"low": low, "high": high}
    return one


def bare(one: Row, name: str) -> Row:
    raw(one)["classes"][0][name] = {}
    return one


def of_bands(a: Row, b: Row, metric: str = "ops_rate") -> tuple[float, float] | None:
    return bands.of(line([pair(a, b)], metric, provenance=MODELLED))


def test_bands_leave_a_ratio_open_only_where_they_lie_above_zero() -> None:
    assert of_bands(banded(0.5, 0.25, 1.0), banded(2.0, 1.0, 4.0)) == (1.0, 16.0)
    assert of_bands(banded(1.0, 0.0, 2.0), banded(2.0)) is None
    assert of_bands(banded(1.0, 1.0, 0.0), banded(2.0)) is None
    assert of_bands(bare(banded(1.0), "ops_rate"), banded(2.0)) is None
    assert bands.of(line(provenance=MODELLED)) is None


def test_a_distribution_without_widths_is_its_own_band() -> None:
    a, b = run(1000.0, provenance="modelled"), run(500.0, provenance="modelled")
    raw(a)["classes"][0]["service"]["widths"] = {}
    for metric in ("service_p50", "service_p99"):
        assert of_bands(a, b, metric) == (close(2.0), close(2.0))


def bounded(low: float, high: float, metric: str = "ops_rate", **given: Any) -> Line:
    return line(pairs([1000.0], [1600.0]), metric, evidence=evidence(interval=Interval(low, high)), **given)


def test_a_row_says_how_many_times_as_well_b_does() -> None:
    low, high = math.log(1.25), math.log(2.0)
    rate, time = table.entries(comparison(bounded(low, high), bounded(low, high, "service_p50")))
    assert (rate.times, rate.bounds) == (close(1.6), (close(1.25), close(2.0)))
    # The time of B is 1 / 1.6 of that of A; an interval of 1.25 to 2 times the time is 0.5 to 0.8 times as well.
    assert (time.times, time.bounds) == (close(1.6), (close(0.5), close(0.8)))
    assert rate.ratio == "1.60x (1.25 to 2.00)"
    (none,) = table.entries(comparison(line()))
    assert (none.a, none.b, none.times, none.bounds, none.ratio) == ("", "", None, None, "")
    assert (none.document()["low"], none.document()["high"]) == (None, None)


MANY = f"undecided (more than {need.MOST} fresh pairs would decide)"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"outcome": "different"}, "B better"),
        ({"outcome": "equivalent"}, "equivalent"),
        ({"reason": "scatter", "evidence": evidence(needed=31)}, "undecided (about 31 fresh pairs would decide)"),
        ({"reason": "few-pairs", "evidence": evidence(needed=31)}, "undecided (about 31 fresh pairs would decide)"),
        (
            {"reason": "scatter", "evidence": evidence(needed=need.MOST - 1)},
            f"undecided (about {need.MOST - 1} fresh pairs would decide)",
        ),
        ({"reason": "scatter", "evidence": evidence(needed=need.MOST)}, MANY),
        ({"reason": "scatter", "evidence": None}, "undecided (not run side by side)"),
        ({"reason": "few-pairs", "evidence": None}, "undecided (too few pairs)"),
        ({"reason": "unfinished", "evidence": evidence()}, "undecided (pairs are still to come)"),
        ({"reason": "no-pairs", "evidence": None}, "undecided (no pair is left)"),
        ({"reason": "fixed-order", "evidence": evidence()}, "undecided (not run side by side)"),
    ],
)
def test_what_may_be_said_of_a_row(given: Any, said: str) -> None:
    (found,) = table.entries(comparison(line(pairs([1000.0], [1500.0]), **given)))
    assert found.outcome == said


def decided(one: Line, margin: float = 0.02) -> Line:
    outcome, reason = bands.judged(one, margin)
    return replace(one, outcome=outcome, reason=reason)


def modelled(a: Row, b: Row, margin: float = 0.02) -> str:
    one = decided(line([pair(a, b)], provenance=MODELLED), margin)
    (found,) = table.entries(comparison(one, rules=Rules(margin=margin)))
    return found.outcome


def test_what_models_computed_is_decided_by_their_bands_alone() -> None:
    assert modelled(banded(1000.0), banded(1019.0)) == "equivalent (modelled)"
    assert modelled(banded(1019.0), banded(1000.0)) == "equivalent (modelled)"
    assert modelled(banded(1000.0), banded(1500.0), margin=0.5) == "equivalent (modelled)"
    # Medians that are the same are no equality where the bands leave more open than the margin.
    assert modelled(banded(1000.0, 980.0, 1020.0), banded(1000.0)) == "undecided (modelled, bands overlap)"
    assert modelled(banded(1000.0, 990.0, 1010.0), banded(1000.0)) == "equivalent (modelled)"
    assert modelled(banded(1000.0), banded(1500.0), margin=0.49) == "B better (modelled)"
    assert modelled(banded(1000.0), banded(1021.0)) == "B better (modelled)"
    assert modelled(banded(1021.0), banded(1000.0)) == "A better (modelled)"
    # The ratio is open from the lowest of B over the highest of A to the highest over the lowest.
    low, high = banded(1000.0, 1000.0, 2000.0), banded(3000.0, 2000.0, 3000.0)
    assert modelled(low, high) == "undecided (modelled, bands overlap)"
    assert modelled(high, low) == "undecided (modelled, bands overlap)"
    apart = banded(3000.0, 2001.0, 3000.0)
    assert (modelled(low, apart), modelled(apart, low)) == ("B better (modelled)", "A better (modelled)")
    assert modelled(bare(banded(1.0), "ops_rate"), banded(2.0)) == "undecided (modelled)"


def test_a_modelled_side_against_a_measured_one_is_named_with_both() -> None:
    one = decided(line([pair(banded(1000.0), banded(1500.0))], provenance=("modelled", "measured")))
    assert table.entries(comparison(one))[0].outcome == "undecided (modelled and measured)"


@pytest.mark.parametrize(
    ("b", "word", "said"),
    [
        (banded(3000.0, 2001.0, 3000.0), "different", "Different as modelled, B is better: "),
        (banded(3000.0, 2000.0, 3000.0), "undecided", "Undecided: both sides are modelled, and their bands overlap: "),
        (banded(1000.0), "undecided", "Undecided: both sides are modelled, and their bands overlap: "),
    ],
)
def test_table_count_and_sentence_have_one_word_for_what_was_modelled(b: Row, word: str, said: str) -> None:
    one = decided(line([pair(banded(1000.0, 1000.0, 2000.0), b)], provenance=MODELLED))
    found = comparison(one)
    assert found.count(word) == 1
    assert words.sentence(one, found).startswith(said)
    assert words.span(one) in words.sentence(one, found)
    outcome = table.entries(found)[0].outcome
    assert outcome.startswith("B better" if word == "different" else word)


@pytest.mark.parametrize(("measured", "head"), [(0, "what bands leave open"), (1, "95 % interval, or bands")])
def test_the_page_calls_bands_no_interval(measured: int, head: str, tmp_path: Path) -> None:
    low, high = banded(1000.0, 1000.0, 2000.0), banded(3000.0, 2001.0, 3000.0)
    one = decided(line([pair(low, high)], provenance=MODELLED, reason="no-pairs"))
    found = comparison(one, *([line(pairs([1.0], [2.0]), reason="few-pairs")] * measured))
    text = page.write(tmp_path / "compare.html", found, None, []).read_text()
    assert f'<th scope="col" class="figure-cell">{head}</th>' in text
    assert "Of modelled sides: what their bands leave open." in text
    assert forest.draw(found).data[0]["low"] == pytest.approx(2001 / 2000)


def named(*outcomes: tuple[str, str]) -> list[Line]:
    """Comparisons of cells by name, with their outcomes; B does 1.5 times as well where it differs."""
    made = pairs([1000.0], [1500.0])
    return [line(made, cell=name, outcome=outcome, reason="scatter") for name, outcome in outcomes]


def test_the_sentence_names_up_to_four_and_counts_more() -> None:
    assert table.sentence(comparison(), ("x", "y")) == "Nothing could be compared."
    four = named(*((name, "equivalent") for name in "abcd"))
    said = table.sentence(comparison(*four), ("x", "y"))
    titles = [f"{name}, scan, operations per second" for name in "abcd"]
    assert said == f"Equivalent: {', '.join(titles[:3])} and {titles[3]}."
    more = table.sentence(comparison(*four, *named(("e", "equivalent"), ("f", "undecided"))), ("x", "y"))
    assert more == "Equivalent: 5 of 6 comparisons; undecided: f, scan, operations per second."
    better = table.sentence(comparison(*named(("a", "different"), ("b", "undecided"))), ("x", "y"))
    assert better == (
        "y is 1.50x as good in a, scan, operations per second; undecided: b, scan, operations per second."
    )


def test_what_a_model_says_is_marked_in_the_sentence() -> None:
    one = decided(line([pair(banded(1500.0), banded(1000.0))], provenance=MODELLED, cell="a"))
    said = table.sentence(comparison(one), ("x", "y"))
    assert said == "x is 1.50x as good in a, scan, operations per second (modelled)."


def test_of_one_disk_only_what_differs_by_place_is_named() -> None:
    places = [run(1000.0, environment={"targets.path": path}) for path in ("/a", "/b")]
    found = comparison(*named(("a", "different"), ("b", "equivalent")), a=side("A", places[0]), b=side("A", places[1]))
    said = "Both lie on one disk (nvme0n1), so that neither is the faster one"
    assert table.sentence(found, ("x", "y")) == (
        f"{said}; their places on it differ in a, scan, operations per second."
    )
    alike = comparison(*named(("b", "equivalent")), a=side("A", places[0]), b=side("A", places[1]))
    assert table.sentence(alike, ("x", "y")) == f"{said}."
    assert table.entries(found)[0].ratio == ""


def asked(ask: str, metric: str = "ops_rate", count: int = 1) -> Line:
    return line(pairs([1000.0] * count, [1500.0] * count, factors={"ask": ask}), metric, outcome="different")


def test_rows_stand_in_the_order_of_their_questions() -> None:
    found = table.entries(comparison(line(), asked("scan", "bandwidth"), asked("durable commit"), asked("scan")))
    assert [one.title for one in found] == [
        "durable 4 KiB commits, one thread",
        "scan, 256 KiB at a time",
        "threads 4, scan, operations per second",
        "threads 4, scan, operations per second",
    ]
    said = table.sentence(comparison(asked("durable commit")), ("x", "y"))
    assert said == "y commits 1.50x as fast."
    assert questions.of(line()) is None


def test_a_question_asks_for_its_own_figures() -> None:
    cell = Match("c", "scan", asked("reads and writes mixed").pairs)
    assert questions.metrics(cell) == ["ops_rate", "read_service_p99"]
    assert questions.metrics(Match("c", "scan", ())) == []


def test_suspicions_are_counted_by_comparison_and_trust_by_run() -> None:
    made = pairs([1000.0, 1000.0], [1500.0, 1500.0], status={2: ("suspect", "hot")})
    dropped = (Dropped(3, "A", "errors"),)
    lines = [line(made, suspect={"hot": 2}, dropped=dropped), line(made, "bandwidth", suspect={"hot": 2, "old": 1})]
    found = comparison(*lines)
    assert table.suspicions(found) == {"hot": 2, "old": 1}
    assert table.trust(found) == "2 of 4 runs are valid, 2 suspect (hot, old); pairs left out: 1. Margin: 2 %."
    assert table.trust(comparison(line(made))) == "2 of 4 runs are valid, 2 suspect. Margin: 2 %."
    assert table.trust(comparison()) == "0 of 0 runs are valid, 0 suspect. Margin: 2 %."


def test_cases_fail_where_a_loss_is_shown_and_are_skipped_where_nothing_is() -> None:
    lines = named(("a", "different"), ("b", "equivalent"), ("c", "undecided"))
    found = comparison(*lines)
    gated = gate.Gate(0.05, (lines[0],), (lines[1],), (lines[2],))
    assert [one.state for one in cases.of(found, gated)] == ["failed", "passed", "skipped"]
    assert [one.state for one in cases.of(found, gated, undecided_fails=True)] == ["failed", "passed", "failed"]
    assert [one.state for one in cases.of(found, None)] == ["passed", "passed", "skipped"]
    assert cases.of(found, gated)[0].group == "side A to side B"


def test_sides_of_two_folders_are_never_one_disk() -> None:
    places = [run(environment={"targets.path": path}) for path in ("/a", "/b")]
    apart = comparison(*named(("a", "different")), a=side("A", places[0], directory=Path("x")), b=side("B", places[1]))
    assert table.entries(apart)[0].outcome == "B better"


def test_what_a_side_does_better_is_named_up_to_four_times_and_counted_beyond() -> None:
    many = named(*((name, "different") for name in "abcde"), ("f", "undecided"))
    said = table.sentence(comparison(*many), ("x", "y"))
    assert said == "y is 1.50x to 1.50x as good in 5 of 6 comparisons; undecided: f, scan, operations per second."
    models = [
        decided(line([pair(banded(value), banded(1000.0))], provenance=MODELLED, cell=str(value)))
        for value in (1500.0, 2000.0, 3000.0, 4000.0, 5000.0)
    ]
    said = table.sentence(comparison(*models), ("x", "y"))
    assert said == "x is 1.50x to 5.00x as good in 5 of 5 comparisons (modelled)."
