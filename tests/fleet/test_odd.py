"""Which host is the odd one."""

import random

import pytest
from assay.fleet import odd
from assay.fleet.total import of_cell
from assay.untyped import Json

from .records import seat

HOSTS = ["a", "b", "c", "d"]


def totals(cells: int, seed: int, slow: float = 1.0) -> list[Json]:
    """Cells in which all hosts scatter by 3 %, and `d` is slower by a share."""
    drawn = random.Random(seed)  # noqa: S311  Noise that can be repeated.
    found = []
    for _ in range(cells):
        shared = 1000 * drawn.uniform(0.5, 2)
        rates = {host: shared * drawn.gauss(1, 0.03) * (slow if host == "d" else 1) for host in HOSTS}
        found.append(of_cell([seat(host, rate) for host, rate in rates.items()]))
    return found


def test_a_slow_host_is_found_and_named() -> None:
    found = odd.of_totals(HOSTS, totals(12, 1, slow=0.8))
    assert [one["host"] for one in found["tested"] if one["odd"]] == ["d"]
    (said,) = odd.sentences(found)
    assert said.startswith("odd: d is ")
    assert "slower than the median of the others in commits (12 cells" in said


def test_hosts_that_are_alike_are_rarely_called_odd() -> None:
    alarms = sum(any(one["odd"] for one in odd.of_totals(HOSTS, totals(10, seed))["tested"]) for seed in range(60))
    assert alarms <= 6


@pytest.mark.parametrize("cells", [1, 5])
def test_few_cells_tell_nothing_and_how_many_would_is_said(cells: int) -> None:
    found = odd.of_totals(HOSTS, totals(cells, 2, slow=0.5))
    assert not any(one["odd"] for one in found["tested"])
    assert f"cannot be told from {cells} cells; 8 could" in next(odd.sentences(found))


def test_of_two_that_differ_neither_is_odd() -> None:
    found = odd.of_totals(["a", "b"], [of_cell([seat("a", 100), seat("b", 900)])])
    assert not found["tested"]
    assert not list(odd.sentences(found))
