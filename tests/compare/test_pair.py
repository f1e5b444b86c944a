"""Pairs: which run was first, what their ratio is, what keeps them out, and how they lie in time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
from assay.compare import design
from assay.compare.pair import Pair, against, begun, sorted_out, suspicions
from assay.results.row import Row

from compare.runs import pair, raw, run

EPOCH = begun(run(at=0.0))


def judged(one: Row, *reasons: dict[str, str], status: str = "suspect") -> Row:
    raw(one)["verdict"] = {"status": status, "reasons": list(reasons) or None}
    return one


def reason(code: str, severity: str = "suspect") -> dict[str, str]:
    return {"code": code, "severity": severity, "evidence": f"seen by {code}."}


def test_the_side_that_began_earlier_was_first_and_a_where_both_began_at_once() -> None:
    assert [pair(run(at=a), run(at=1.0)).first for a in (0.0, 1.0, 2.0)] == ["A", "A", "B"]


def test_a_pair_spans_from_its_first_start_to_its_last_end() -> None:
    for a, b in ((0.0, 2.0), (2.0, 0.0)):
        assert pair(run(at=a), run(at=b)).span == (EPOCH, EPOCH + 2.5)
    long = run(at=0.0)
    raw(long)["run"]["wall_s"] = 100.0
    assert pair(long, run(at=2.0)).span == (EPOCH, EPOCH + 100.0)


def test_a_run_that_does_not_say_when_it_was_began_at_the_epoch_and_took_no_time() -> None:
    silent = run()
    del raw(silent)["run"]["started_at"], raw(silent)["run"]["wall_s"]
    assert begun(silent) == 0.0
    assert pair(silent, silent).span == (0.0, 0.0)


@pytest.mark.parametrize(
    ("a", "b", "ratio"),
    [(1000.0, 500.0, 0.5), (0.5, 0.25, 0.5), (0.25, 0.5, 2.0), (0.0, 1.0, None), (1.0, 0.0, None), (-1.0, 1.0, None),
     (1.0, -1.0, None), (-1.0, -1.0, None), (None, 1.0, None), (1.0, None, None)],
)  # fmt: skip
def test_a_ratio_is_of_two_figures_above_zero(a: float | None, b: float | None, ratio: float | None) -> None:
    found = pair(run(), run())
    for one, value in ((found.a, a), (found.b, b)):
        raw(one)["classes"][0]["ops_rate"]["value"] = value
    seen = found.log_ratio("ops_rate")
    assert seen == (None if ratio is None else pytest.approx(math.log(ratio)))


def test_pairs_count_in_the_order_in_which_they_began() -> None:
    long = run(at=0.0)
    raw(long)["run"]["wall_s"] = 100.0
    found = [pair(run(at=10.0), run(at=11.0), 1), pair(long, run(at=1.0), 2), pair(run(at=10.0), run(at=12.0), 3)]
    kept, dropped = sorted_out(found)
    assert [one.number for one in kept] == [2, 1, 3]
    assert dropped == []


def test_a_pair_is_left_out_with_the_side_at_fault() -> None:
    def bad(code: str) -> Row:
        return judged(run(), reason(code, "invalid"))

    found = [pair(bad("errors"), run(), 1), pair(run(), bad("stalls"), 2), pair(bad("errors"), bad("stalls"), 3)]
    kept, dropped = sorted_out([*found, pair(run(), run(), 4)])
    assert [one.number for one in kept] == [4]
    assert [one.document() for one in dropped] == [
        {"pair": 1, "side": "A", "reason": "errors: seen by errors."},
        {"pair": 2, "side": "B", "reason": "stalls: seen by stalls."},
        {"pair": 3, "side": "both", "reason": "errors: seen by errors."},
    ]


def test_what_speaks_against_a_record_is_what_makes_it_invalid_or_cuts_it_short() -> None:
    assert against(judged(run(), status="valid")) == ""
    assert against(judged(run(), reason("foreign-load"))) == ""
    assert against(judged(run(), reason("interrupted"))) == "interrupted: seen by interrupted."
    both = reason("interrupted"), reason("errors", "invalid")
    assert against(judged(run(), *both)) == "errors: seen by errors."
    assert against(judged(run(), status="invalid")) == "the record is invalid and does not say why"


def test_records_are_counted_by_what_makes_them_suspect() -> None:
    twice = reason("foreign-load"), reason("foreign-load"), reason("noisy-machine"), reason("errors", "invalid")
    found = [pair(judged(run(), *twice), judged(run(), reason("foreign-load"), reason("hot"))), pair(run(), run(), 2)]
    assert suspicions(found) == {"foreign-load": 2, "hot": 1}


def turns(a_first: int, count: int, apart_s: float = 2.0) -> list[Pair]:
    """Pairs `apart_s` after each other, each 1.5 seconds from start to end, of which so many have A first."""
    return [
        pair(run(at=apart_s * place + (place >= a_first)), run(at=apart_s * place + (place < a_first)), place + 1)
        for place in range(count)
    ]


@pytest.mark.parametrize(
    ("a_first", "count", "kind"),
    [
        (0, 0, "single"),
        (1, 1, "single"),
        (1, 2, "interleaved"),
        # Two of eight lots fall on one side by chance, so that chance alone does not tell.
        (0, 3, "fixed-order"),
        (3, 3, "fixed-order"),
        (2, 3, "interleaved"),
        (1, 3, "interleaved"),
        # Two-sided: 24 / 2048 = 1.2 % of eleven lots are as lopsided, 26 / 4096 = 0.6 % of twelve.
        (1, 11, "interleaved"),
        (10, 11, "interleaved"),
        (1, 12, "fixed-order"),
        (11, 12, "fixed-order"),
    ],
)
def test_an_order_is_taken_for_drawn_where_one_in_a_hundred_is_as_lopsided(a_first: int, count: int, kind: str) -> None:
    found = design.of(turns(a_first, count), by_lot=False)
    assert (found.kind, found.a_first, found.b_first) == (kind, a_first, count - a_first)
    assert design.of(turns(a_first, count), by_lot=True).kind == ("paired" if count > 1 else "single")


def spans(*times: tuple[float, float]) -> Sequence[Pair]:
    return [pair(run(at=a), run(at=b), number) for number, (a, b) in enumerate(times, 1)]


@pytest.mark.parametrize(
    ("times", "kind"),
    [
        # A pair that begins where the one before it ends does not overlap it.
        ([(0.0, 0.5), (1.0, 1.5)], "paired"),
        ([(0.0, 0.625), (1.0, 1.5)], "apart"),
        ([(0.0, 100.0), (1.0, 101.0)], "apart"),
        ([(0.0, 1.0), (2.0, 3.0), (4.0, 9.0), (5.0, 10.0)], "apart"),
    ],
)
def test_pairs_that_overlap_were_run_apart(times: list[tuple[float, float]], kind: str) -> None:
    assert design.of(spans(*times), by_lot=True).kind == kind


def test_drift_is_taken_out_by_lots_and_by_turns_and_each_order_is_said() -> None:
    said: dict[str, Any] = {kind: design.Design(kind, 3, 2) for kind in ("paired", "interleaved", "fixed-order")}
    said |= {kind: design.Design(kind, 3, 2) for kind in ("apart", "single")}
    assert [one.takes_out_drift for one in said.values()] == [True, True, False, False, False]
    assert all("A first 3 times, B first 2 times" in said[kind].said for kind in ("paired", "interleaved"))
    assert said["single"].said == "a single pair"
