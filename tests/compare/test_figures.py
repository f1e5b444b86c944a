"""Figures of the comparison, one by one: what each formula, limit and bound gives."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from assay.compare import bands, blocks, change, gate, judgement, questions, selftest, table
from assay.compare.error import CompareError
from assay.compare.judgement import Evidence, Rules, judge, loss_of, weigh
from assay.error import DONE, MISSED, UNDECIDED
from assay.stats import bootstrap, need
from assay.stats.bootstrap import Interval


def close(value: float) -> Any:
    return pytest.approx(value, rel=1e-9, abs=1e-12)


def evidence(**given: Any) -> Evidence:
    shown: dict[str, Any] = {"pairs": 12, "block": 1, "likeness": 0.0, "median": 0.1, "interval": Interval(0.05, 0.15)}
    shown |= {"p_different": 0.01, "p_equivalent": 1.0, "p_beyond": 1.0, "p_within": 1.0, "scatter": 0.01, "needed": 8}
    return Evidence(**(shown | given))


def outcome(*family: Evidence, rules: Rules | None = None) -> list[tuple[str, str]]:
    return [(one.outcome, one.reason) for one in judge(family, rules or Rules())]


MARGIN = math.log1p(0.02)
DIFFERENT, SCATTER = ("different", "beyond-chance"), ("undecided", "scatter")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"p_different": 0.05}, DIFFERENT),
        ({"p_different": 0.0501}, SCATTER),
        ({"interval": Interval(0.0, 0.15)}, SCATTER),
        ({"interval": Interval(-0.15, 0.0)}, SCATTER),
        ({"pairs": 6}, DIFFERENT),
        ({"pairs": 5}, ("undecided", "few-pairs")),
        ({"pairs": 12, "block": 2}, DIFFERENT),
        ({"pairs": 11, "block": 2}, ("undecided", "few-pairs")),
        ({"p_equivalent": 0.05, "interval": Interval(-0.019, 0.019)}, ("equivalent", "within-margin")),
        ({"p_equivalent": 0.0501, "interval": Interval(-0.019, 0.019)}, SCATTER),
        ({"p_equivalent": 0.01, "interval": Interval(-MARGIN, 0.01)}, SCATTER),
        ({"p_equivalent": 0.01, "interval": Interval(-0.01, MARGIN)}, SCATTER),
    ],
)
def test_both_proofs_are_asked_for_at_five_percent_and_two(given: dict[str, Any], said: tuple[str, str]) -> None:
    assert outcome(evidence(**given)) == [said]


def test_each_kind_of_claim_is_corrected_for_the_number_of_comparisons() -> None:
    assert outcome(evidence(p_different=0.02), evidence(p_different=0.03)) == [DIFFERENT, DIFFERENT]
    assert outcome(evidence(p_different=0.03), evidence(p_different=0.04)) == [SCATTER, SCATTER]
    (found,) = judge([evidence(p_different=0.2, p_equivalent=0.3, p_beyond=0.4, p_within=0.6)], Rules())
    assert (found.p_different, found.p_equivalent, found.p_beyond, found.p_within) == (0.2, 0.3, 0.4, 0.6)
    assert judge([], Rules()) == []


def test_drift_widens_the_interval_and_narrows_the_margin() -> None:
    values = np.log([1.18, 1.21, 1.24, 1.2, 1.19, 1.22, 1.23, 1.17])
    plain, wide = weigh(values, Rules()), weigh(values, Rules(drift=0.1))
    found = bootstrap.median_interval(values)
    assert (plain.interval.low, plain.interval.high) == (close(found.low), close(found.high))
    assert wide.interval.low == close(found.low - math.log(1.1))
    assert wide.interval.high == close(found.high + math.log(1.1))
    # All eight lie beyond 10 %, and none beyond 30.
    assert (plain.p_different, wide.p_different) == (close(2 / 256), close(2 / 256))
    assert weigh(values, Rules(drift=0.3)).p_different == 1.0
    assert (plain.pairs, plain.median, plain.scatter) == (8, close(float(np.median(values))), close(need.scale(values)))
    assert plain.ratio == close(float(np.exp(np.median(values))))
    still = np.array([0.001, -0.002, 0.003, -0.004, 0.005, -0.006, 0.007, -0.008])
    assert weigh(still, Rules()).p_equivalent == close(1 / 256)
    assert weigh(still, Rules(drift=0.01)).p_equivalent == close(1 / 256)
    assert weigh(still, Rules(drift=0.02)).p_equivalent == 1.0, "nothing is left of the margin"


def test_a_loss_is_of_a_rate_or_of_a_cost() -> None:
    assert loss_of(0.05, cost=True) == close(math.log(1.05))
    assert loss_of(0.05, cost=False) == close(-math.log(0.95))
    less = np.log([0.9, 0.91, 0.89, 0.905, 0.895, 0.885, 0.915, 0.88])
    rules = Rules(bound=0.05)
    rate, cost = weigh(less, rules), weigh(-less, rules, cost=True)
    assert (rate.p_beyond, rate.p_within) == (close(1 / 256), 1.0)
    assert (cost.p_beyond, cost.p_within) == (close(1 / 256), 1.0)
    gain = weigh(-less, rules)
    assert (gain.p_beyond, gain.p_within) == (1.0, close(1 / 256))
    # What may have drifted counts for neither.
    assert weigh(less, Rules(bound=0.05, drift=0.2)).p_beyond == 1.0
    assert weigh(np.log(less * 0 + 0.97), Rules(bound=0.05, drift=0.1)).p_within == 1.0
    assert (weigh(less, Rules()).p_beyond, weigh(less, Rules()).p_within) == (1.0, 1.0)


def test_pairs_that_are_needed_grow_with_the_comparisons_and_come_in_blocks() -> None:
    values = np.array([0.05, -0.02, 0.04, 0.0, 0.06, -0.03, 0.05, -0.01])
    one, many = weigh(values, Rules()), weigh(values, Rules(), comparisons=40)
    assert one.block == 1
    assert one.needed == need.to_decide(values, MARGIN, 0.05)
    assert many.needed == need.to_decide(values, MARGIN, 0.05 / 40) > one.needed
    wander = np.repeat([0.0, 0.1, 0.05, -0.1, 0.15, 0.0, -0.05, 0.1, 0.2], 3)
    wandering = weigh(wander, Rules())
    assert wandering.block == 3
    assert wandering.needed == 3 * need.to_decide(wander, MARGIN, 0.05)


def test_neighbours_are_alike_by_the_correlation_of_ranks() -> None:
    assert blocks.likeness(np.array([])) == 0.0
    assert blocks.likeness(np.array([5.0, 5.0, 5.0])) == 0.0
    assert blocks.likeness(np.array([1.0, 2.0])) == close(-0.5)
    assert blocks.likeness(np.array([1.0, 2.0, 3.0, 100.0])) == close(0.25)
    assert [blocks.length(np.arange(float(count))) for count in (3, 4, 8, 27, 64)] == [1, 1, 2, 3, 4]
    assert blocks.length(np.array([1.0, -1.0] * 10)) == 1


def test_a_remainder_joins_the_last_block() -> None:
    values = np.arange(1.0, 8.0)
    assert blocks.merged(values, 1).tolist() == values.tolist()
    assert blocks.merged(values, 2).tolist() == [1.5, 3.5, 6.0]
    assert blocks.merged(values, 3).tolist() == [2.0, 5.5]
    assert blocks.merged(values, 7).tolist() == [4.0]


def test_the_energy_of_a_step_is_what_its_formula_gives() -> None:
    """Three zeros and three ones: all crossing distances are 1, all others 0; n m / (n + m) times 2."""
    assert change.strongest(np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])) == (3, close(3.0))
    assert change.strongest(np.array([0.0] * 4 + [2.0] * 6)) == (4, close(4.8 * 2))
    assert change.strongest(np.array([0.0, 0.0, 0.0, 9.0, 9.0])) == (0, 0.0)
    # Distances within the parts are taken off: 1 on the average before, 0 after.
    assert change.strongest(np.array([0.0, 1.5, 0.0, 5.0, 5.0, 5.0])) == (3, close(1.5 * (2 * 4.5 - 1)))


def test_a_change_has_its_place_its_shift_and_its_probability() -> None:
    (found,) = change.changes([5.0] * 6 + [15.0] * 6)
    assert (found.at, found.first, found.last) == (6, 6, 6)
    assert (found.shift, found.low, found.high) == (10.0, 10.0, 10.0)
    assert found.p == close(2 / 500), "of 499 shuffles one divides as well"
    noisy = [5.0, 5.4, 4.7, 5.1, 4.9, 5.2, 9.0, 9.5, 8.6, 9.2, 8.8, 9.1]
    (found,) = change.changes(noisy)
    assert found.low < found.shift < found.high
    assert 3.4 < found.low < found.high < 4.6
    assert change.changes([5.0] * 4 + [15.0] * 3) == [], "seven points show nothing"
    assert len(change.changes([5.0] * 4 + [15.0] * 4)) == 1
    (late,) = change.changes([5.0] * 300 + [15.0] * 300)
    assert (late.at, late.first, late.last) == (300, 300, 300), "places are those of the whole series"


def modelled(value: float, **given: Any) -> Any:
    return SimpleNamespace(
        metric=lambda _: value, distribution=lambda _: given.get("latency"), result=given.get("result", {})
    )


def of_bands(a: Any, b: Any, metric: str, provenance: tuple[str, str] = ("modelled", "modelled")) -> Any:
    mixed = len(set(provenance)) > 1 or provenance[0] == "modelled"
    return bands.of(SimpleNamespace(pairs=[SimpleNamespace(a=a, b=b)], metric=metric, mixed=mixed))  # type: ignore[arg-type]


def test_bands_leave_open_what_both_ends_leave_open() -> None:
    widths = {"widths": {"latency": 0.25, "tail": 1.0}}
    a, b = modelled(100.0, latency=widths), modelled(300.0)
    assert of_bands(a, b, "service_p50") == (close(300 / 125), close(300 / 80))
    assert of_bands(a, b, "service_p99") == (close(300 / 200), close(300 / 50))
    assert of_bands(b, a, "service_p50") == (close(80 / 300), close(125 / 300))
    rate = modelled(10.0, result={"ops_rate": {"band": {"low": 8.0, "high": 16.0}}})
    assert of_bands(rate, modelled(32.0), "ops_rate") == (2.0, 4.0)
    assert of_bands(rate, modelled(32.0), "ops_rate", ("measured", "measured")) is None
    assert of_bands(modelled(0.0), modelled(1.0), "ops_rate") is None


def line(**given: Any) -> Any:
    shown = {"name": "x", "cost": False, "judgement": None, "reason": bands.OVERLAP, "ratio": 0.8}
    shown |= {"provenance": ("modelled", "modelled"), "outcome": "undecided"}
    return SimpleNamespace(**(shown | given))


@pytest.mark.parametrize(
    ("open_", "cost", "said"),
    [
        ((0.5, 0.9), False, "slower"),
        ((0.5, 0.96), False, "undecided"),
        ((0.96, 1.5), False, "within"),
        ((0.94, 1.5), False, "undecided"),
        ((1.1, 1.5), True, "slower"),
        ((0.5, 1.04), True, "within"),
        ((1.04, 1.5), True, "undecided"),
        ((0.0, 0.5), False, "undecided"),
        (None, False, "undecided"),
    ],
)
def test_bands_decide_a_gate_where_all_of_them_lies_on_a_side(
    open_: Any, cost: bool, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bands, "of", lambda _: open_)
    rules = Rules()
    found = gate.gate(SimpleNamespace(lines=[line(cost=cost)], rules=rules), 0.05)  # type: ignore[arg-type]
    assert {name for name in ("slower", "within", "undecided") if getattr(found, name)} == {said}
    mixed = line(cost=cost, provenance=("modelled", "measured"), reason="provenance")
    other = gate.gate(SimpleNamespace(lines=[mixed], rules=rules), 0.05)  # type: ignore[arg-type]
    assert other.undecided


@pytest.mark.parametrize(
    ("interval", "p", "kind", "said"),
    [
        ((-0.2, -0.06), (0.05, 1.0), "different", "slower"),
        ((-0.2, -0.06), (0.051, 1.0), "different", "undecided"),
        ((-0.2, -0.06), (0.05, 1.0), "undecided", "undecided"),
        ((-0.2, -0.05), (0.05, 1.0), "different", "undecided"),
        ((-0.05, 0.1), (1.0, 0.05), "undecided", "within"),
        ((-0.05, 0.1), (1.0, 0.051), "undecided", "undecided"),
        ((-0.06, 0.1), (1.0, 0.05), "undecided", "undecided"),
    ],
)
def test_a_test_and_an_interval_decide_a_gate(
    interval: tuple[float, float], p: tuple[float, float], kind: str, said: str
) -> None:
    judged = SimpleNamespace(evidence=evidence(interval=Interval(*interval)), p_beyond=p[0], p_within=p[1])
    lines = [line(judgement=judged, outcome=kind, reason="beyond-chance")]
    found = gate.gate(SimpleNamespace(lines=lines, rules=Rules()), 0.05)  # type: ignore[arg-type]
    assert {name for name in ("slower", "within", "undecided") if getattr(found, name)} == {said}


def test_a_gate_ends_with_a_code_and_names_the_worst() -> None:
    bad, worse, fine = line(name="bad", ratio=0.9), line(name="worse", ratio=0.5), line(name="fine")
    both = gate.Gate(0.05, (bad, worse), (fine,), ())
    assert (both.exit_code(undecided_fails=False), both.exit_code(undecided_fails=True)) == (MISSED, MISSED)
    assert both.sentence.startswith("B is slower than A by more than 5 %: worse and 1 more.")
    assert gate.Gate(0.05, (bad,), (), ()).sentence.startswith("B is slower than A by more than 5 %: bad.")
    open_ = gate.Gate(0.05, (), (fine,), (bad, worse))
    assert (open_.exit_code(undecided_fails=False), open_.exit_code(undecided_fails=True)) == (DONE, UNDECIDED)
    assert "undecided for 2 of 3 comparisons" in open_.sentence
    held = gate.Gate(0.05, (), (fine,), ())
    assert (held.exit_code(undecided_fails=True), held.document()["within"]) == (DONE, ["fine"])
    assert "all 1 comparisons show it. Modelled:" in held.sentence


def test_a_share_is_between_nothing_and_all() -> None:
    assert [gate.share(text, "--x") for text in ("5%", "0.05", " 2.5 % ", "0.999")] == [0.05, 0.05, 0.025, 0.999]
    for text in ("0", "0%", "1", "100%", "-5%", "five", "5%%", ""):
        with pytest.raises(CompareError, match="not a share"):
            gate.share(text, "--x")


def test_who_answers_the_questions_of_two_drives() -> None:
    def side(*factors: dict[str, str]) -> Any:
        return SimpleNamespace(rows=[SimpleNamespace(cell=SimpleNamespace(factors=one)) for one in factors])

    assert questions.answers(side({"ask": "scan"}, {"ask": "one read"}))
    assert not questions.answers(side({"ask": "scan"}, {"size": "4 KiB"}))
    assert not questions.answers(side())


def test_a_row_of_the_table_has_bounds_or_none() -> None:
    row = table.Entry("scan", "1", "2", 2.0, (1.5, 2.5), "B better", line())
    assert (row.document()["low"], row.document()["high"]) == (1.5, 2.5)
    bare = table.Entry("scan", "1", "2", 2.0, None, "B better", line())
    assert (bare.document()["low"], bare.document()["high"], bare.ratio) == (None, None, "2.00x")
    assert table.listed([]) == ""
    assert (table.listed(["a"]), table.listed(["a", "b"]), table.listed(["a", "b", "c"])) == (
        "a",
        "a and b",
        "a, b and c",
    )


def run(value: float, at: float) -> Any:
    return SimpleNamespace(metric=lambda _: value, record={"run": {"started_at": f"2026-01-01T00:00:{at:09.6f}"}})


def test_one_side_against_itself_says_how_its_later_half_lies() -> None:
    """Ten pairs whose runs go from 100 up by 1 % each: the later half lies 10 % above the earlier."""
    runs = [run(100 * 1.01**place, place) for place in range(20)]
    pairs = [SimpleNamespace(a=runs[2 * one], b=runs[2 * one + 1]) for one in range(10)]
    logs = [0.01, -0.02] * 5
    given = SimpleNamespace(log_ratios=logs, pairs=pairs, metric="ops_rate", cell="c", class_name="k")
    found = selftest.test(given)  # type: ignore[arg-type]
    assert found is not None
    assert found.drift == close(1.01**10)
    assert (found.pairs, found.scatter) == (10, close(need.scale(np.array(logs))))
    assert found.likeness == close(blocks.likeness(np.arange(20.0)))
    assert (found.one_after_other, found.windows, found.apart) == (1.0, 1, 1)
    assert [one.pairs for one in found.visible] == [10, 20, 40]
    few = SimpleNamespace(log_ratios=logs[:9], pairs=pairs[:9], metric="ops_rate")
    assert selftest.test(few) is None  # type: ignore[arg-type]


def test_too_few_runs_have_no_windows() -> None:
    assert selftest.one_after_other(np.zeros(19)) == (None, 0, 0)
    rising, flat = selftest.one_after_other(np.arange(45.0)), selftest.one_after_other(np.ones(20))
    assert rising == (1.0, 26, 2)
    assert flat == (0.0, 1, 1)


def test_limits_are_those_of_the_page() -> None:
    assert (judgement.LEVEL, judgement.MARGIN, judgement.FEWEST) == (0.05, 0.02, 6)
    assert (change.SHORTEST, change.FEWEST, change.LEVEL, change.MOST) == (3, 8, 0.05, 400)
    assert (selftest.POWER, selftest.WINDOW, selftest.SIZES) == (0.8, 10, (10, 20, 40))
