"""In what two sides differ besides their figures."""

from __future__ import annotations

from typing import Any

import pytest
from assay.compare import conditions
from assay.compare.conditions import Difference
from assay.results.row import Row

from compare.runs import raw, run, side


def with_facts(*facts: dict[str, Any]) -> list[Row]:
    """Runs of whose machine nothing is known but these facts."""
    found = []
    for number, fact in enumerate(facts, 1):
        one = run(repeat=number)
        raw(one)["environment"] = fact
        found.append(one)
    return found


def differences(a: list[dict[str, Any]], b: list[dict[str, Any]]) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    found = conditions.environment(side("A", *with_facts(*a)), side("B", *with_facts(*b)))
    return [(one.what, one.a, one.b) for one in found]


@pytest.mark.parametrize(
    ("a", "b", "found"),
    [
        ([{"kernel": "6.1"}], [{"kernel": "6.1"}], []),
        ([{"kernel": "6.1"}], [{"kernel": "6.9"}], [("kernel", ("6.1",), ("6.9",))]),
        ([{"kernel": "6.1"}], [{}], [("kernel", ("6.1",), ())]),
        ([{}], [{"cpu": {"boost_mhz": 5}}], [("cpu boost mhz", (), ("5",))]),
        # What changes within both sides alike is shown, too.
        ([{"x": 1}, {"x": 2}], [{"x": 2}, {"x": 1}], [("x", ("1", "2"), ("2", "1"))]),
        ([{"x": 1}], [{"x": 1}, {"x": 2}], [("x", ("1",), ("1", "2"))]),
        # What a run never has twice alike says nothing.
        ([{"load_average": 1}], [{"load_average": 9}], []),
        ([{"cpu": {"tsc_hz": 1}}], [{"cpu": {"tsc_hz": 9}}], []),
        # Nothing and an empty word are the same.
        ([{"x": None}], [{"x": ""}], []),
        ([{"x": None}], [{"x": 0}], [("x", ("none",), ("0",))]),
        ([{"x": ["a", "b"]}], [{"x": ["a"]}], [("x", ("a, b",), ("a",))]),
        # One member of a list needs no name; of several each is named by itself, by its target, or by its place.
        ([{"disk": [{"kind": "ssd"}]}], [{"disk": [{"kind": "hdd"}]}], [("disk kind", ("ssd",), ("hdd",))]),
        (
            [{"disk": [{"name": "vda", "mb": 1}, {"target": "main", "mb": 1}, {"mb": 1}, 5]}],
            [{"disk": [{"name": "vda", "mb": 2}, {"target": "main", "mb": 3}, {"mb": 4}, 6]}],
            [
                ("disk vda mb", ("1",), ("2",)),
                ("disk main mb", ("1",), ("3",)),
                ("disk 2 mb", ("1",), ("4",)),
                ("disk 3", ("5",), ("6",)),
            ],
        ),
        (
            [{"disk": [{"name": "a", "mb": 1}, {"name": "b"}]}],
            [{"disk": [{"name": "a", "mb": 2}, {"name": "b"}]}],
            [("disk a mb", ("1",), ("2",))],
        ),
    ],
)
def test_facts_that_differ_are_named_with_both_their_values(a: Any, b: Any, found: Any) -> None:
    assert differences(a, b) == found


def test_the_program_that_measured_is_one_of_the_facts() -> None:
    a, b = with_facts({}), with_facts({})
    raw(b[0])["run"]["assayer_version"] = "0.2.0"
    (found,) = conditions.environment(side("A", *a), side("B", *b))
    assert found.document() == {"what": "assayer version", "a": ["0.1.0"], "b": ["0.2.0"]}


def test_what_was_asked_for_is_compared_without_what_sets_runs_apart() -> None:
    a, b = run(), run()
    raw(a)["job"] |= {"seed": 1, "cache": "dropped"}
    raw(b)["job"] |= {"seed": 2, "cache": "as-found"}
    assert [one.said for one in conditions.asked([a], [b])] == ["cache: dropped (A), as-found (B)"]


@pytest.mark.parametrize(
    ("values", "said"),
    [((), "none"), (("1", "2", "3"), "1, 2, 3"), (("1", "2", "3", "4"), "1, 2, 3 and 1 more"),
     (("1", "2", "3", "4", "5"), "1, 2, 3 and 2 more")],
)  # fmt: skip
def test_three_values_are_named_and_more_are_counted(values: tuple[str, ...], said: str) -> None:
    assert Difference("x", values, ("7",)).said == f"x: {said} (A), 7 (B)"


def test_a_target_is_the_same_one_beside_a_log_and_without() -> None:
    data = {"target": "data", "device": {"name": "vda", "bytes": 9}}
    log = {"target": "log", "device": {"name": "vdb", "bytes": 7}}
    found = differences([{"targets": [data]}], [{"targets": [data, log]}])
    assert {what for what, _, _ in found} == {
        "targets log target",
        "targets log device name",
        "targets log device bytes",
    }
    assert all(not a and b for _, a, b in found)


def test_what_only_one_side_has_is_counted_and_the_rest_is_read_one_by_one() -> None:
    log = [Difference(f"targets log fact{number}", (), ("x",)) for number in range(40)]
    other = [Difference("kernel", ("6.1",), ("6.9",)), Difference("cpu turbo", ("on",), ())]
    listed, counted = conditions.summed_up([*log, *other])
    assert listed == other
    assert [one.said for one in counted] == ["40 facts that only B has: targets log 40"]
    assert counted[0].facts == tuple(log)
    many = [Difference(f"{what} x{n}", ("1",), ()) for what in ("a b", "c d", "e f", "g h") for n in range(2)]
    assert conditions.summed_up(many)[1][0].said == "8 facts that only A has: a b 2, c d 2, e f 2 and 2 more"
