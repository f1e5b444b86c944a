"""A total cannot lie: it is of the hosts that were there for all of a cell, and names the others."""

import pytest
from assay.fleet import words
from assay.fleet.total import of_cell

from .records import lost, seat


def test_a_sum_is_over_all_hosts_that_were_there() -> None:
    found = of_cell([seat("a", 900), seat("b", 1100), seat("c", 1000)])
    (one,) = found["classes"]
    assert found["in_total"] == ["a", "b", "c"]
    assert (one["ops_per_s"], one["bytes_per_s"]) == (3000, 3000 * 4096)
    assert (one["slowest"], one["slowest_ops_per_s"], one["fastest_ops_per_s"]) == ("a", 900, 1100)
    assert found["coincide"] == 1


def test_a_lost_host_is_in_no_sum_and_in_the_first_sentence() -> None:
    total = of_cell([seat("a"), lost("b"), seat("c")])
    assert total["in_total"] == ["a", "c"]
    assert total["classes"][0]["ops_per_s"] == 2000
    said = words.first(["a", "b", "c"], [{"host": "b", "during": "running x", "seen": "its worker ended"}], [total])
    assert said.startswith("1 of 3 hosts was lost: b (running x: its worker ended)")


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (seat("b", late_s=0.3), "0.300 s late"),
        (seat("b", measured_s=1.0), "closed early"),
        (seat("b", stop="interrupted"), "interrupted"),
        (seat("b", attempt=1), "earlier attempt"),
    ],
)
def test_who_was_not_there_for_all_of_it_is_named_with_the_reason(other: object, why: str) -> None:
    of_a = seat("a", attempt=2) if "attempt" in why else seat("a")
    total = of_cell([of_a, other])  # type: ignore[list-item]
    assert total["in_total"] == ["a"]
    assert why in total["not_in_total"]["b"]
    assert "b" in words.first(["a", "b"], [], [total | {"name": "x"}])
    assert any(line.startswith("  without b: ") and why in line for line in words.cell(total | {"name": "x"}))


def test_what_clocks_may_be_wrong_by_is_no_lateness() -> None:
    assert of_cell([seat("a"), seat("b", late_s=0.0101)])["in_total"] == ["a", "b"]


def test_histograms_are_merged_and_percentiles_are_not() -> None:
    quick, slow = seat("a", latencies_ns=(1000,) * 99), seat("b", latencies_ns=(1_000_000,))
    (one,) = of_cell([quick, slow])["classes"]
    assert one["service"]["count"] == 100
    # A mean of both hosts' percentiles would be 500 us.
    assert one["service"]["p50_ns"] == pytest.approx(1000, rel=0.01)
    assert one["service"]["p99_ns"] == pytest.approx(1000, rel=0.01)
    assert one["service"]["max_ns"] == pytest.approx(1_000_000, rel=0.01)


def test_windows_that_hardly_overlap_are_said() -> None:
    found = of_cell([seat("a"), seat("b", late_s=0.015)])
    assert found["coincide"] == pytest.approx(1 - 0.015 / 2, abs=1e-3)
