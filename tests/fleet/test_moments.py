"""What hosts did together within a cell, on one clock."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from assay.fleet import moments, within
from assay.fleet.total import of_cell
from assay.untyped import Json

from .records import MEASURE_S, lost, seat

STEP_S = 0.1


def _total(tmp_path: Path, *seats: Any) -> Json:
    """A cell whose hosts counted 100 operations a tenth of a second, with their records where a run has them."""
    for one in seats:
        if one.record is not None:
            count = round(MEASURE_S / STEP_S)
            points = [{"at_s": STEP_S * (number + 1), "length_s": STEP_S, "operations": 100} for number in range(count)]
            one.record["classes"][0]["intervals"] = points
            place = tmp_path / "hosts" / one.host / "records"
            place.mkdir(parents=True)
            (place / "c.json").write_text(json.dumps(one.record))
    return {"cell": "c", "name": "cell", **of_cell(seats)}


def test_moments_are_summed_over_hosts_that_do_not_begin_together(tmp_path: Path) -> None:
    total = _total(tmp_path, seat("a"), seat("b", late_s=0.015), seat("d", late_s=-0.01))
    found = moments.of_cell(tmp_path, total, ())
    points = found["classes"]["commits"]
    assert all(rate == pytest.approx(3000) for _, rate in points)
    assert points[0][0] >= 0.015, "not before all windows are open"
    assert points[-1][0] <= MEASURE_S - 0.01
    assert sum(rate for _, rate in points) * (points[1][0] - points[0][0]) == pytest.approx(
        3000 * (MEASURE_S - 0.025), rel=0.01
    )


def test_a_lost_host_is_in_no_moment_and_is_marked_when_it_was_seen(tmp_path: Path) -> None:
    total = _total(tmp_path, seat("a"), lost("b"), seat("d", measured_s=1.0))
    gone = [{"host": "b", "during": "running c", "seen": "its worker ended", "cell": "c", "at_s": 0.7}]
    found = moments.of_cell(tmp_path, total, gone)
    assert all(rate == pytest.approx(1000) for _, rate in found["classes"]["commits"])
    assert {one["host"]: one["at_s"] for one in found["missing"]} == {"b": 0.7, "d": pytest.approx(1.0)}
    (figure,) = within.figures([found])
    (panel,) = figure.panels
    assert panel.title.endswith("without b, d")
    marked = {one["host"]: one["x"] for one in figure.data if one["kind"] == "lost"}
    assert marked == {"b": 0.7, "d": pytest.approx(1.0)}


def test_an_interval_is_spread_over_the_moments_that_it_covers(tmp_path: Path) -> None:
    total = _total(tmp_path, seat("a"))
    path = tmp_path / "hosts" / "a" / "records" / "c.json"
    record = json.loads(path.read_text())
    record["classes"][0]["intervals"] = [
        {"at_s": 1.0, "length_s": 1.0, "operations": 1000},
        {"at_s": 2.0, "length_s": 1.0, "operations": 3000},
    ]
    path.write_text(json.dumps(record))
    points = moments.of_cell(tmp_path, total, ())["classes"]["commits"]
    assert [rate for _, rate in points] == [pytest.approx(1000), pytest.approx(3000)]


def test_of_many_cells_those_with_hosts_missing_are_drawn(tmp_path: Path) -> None:
    total = _total(tmp_path, seat("a"), lost("b"))
    one = moments.of_cell(tmp_path, total, ())
    whole = one | {"missing": []}
    many = [one | {"cell": "first"}, *(whole | {"cell": str(number)} for number in range(30))]
    (figure,) = within.figures(many)
    assert len(figure.panels) == within.MOST_CELLS
    assert {entry["panel"] for entry in figure.data} >= {"first", "29"}
    assert figure.notes == ("19 more cells are not drawn.",)
