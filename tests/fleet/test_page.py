"""The figures of a fleet's page."""

from __future__ import annotations

from typing import Any

import pytest
from assay.fleet import page
from assay.fleet.total import of_cell

from .records import seat


def _totals(cells: int) -> list[dict[str, Any]]:
    return [
        of_cell([seat("a", 900), seat("b", 1100 + at)]) | {"cell": f"c{at}", "name": f"c{at}"} for at in range(cells)
    ]


@pytest.mark.parametrize("cells", [1, 2, 20])
def test_cells_are_numbered_from_one(cells: int) -> None:
    totals = _totals(cells)
    figures = page._figures(totals[0]["classes"][0]["class"], ["a", "b"], totals)
    assert len(figures) == 2
    for panel in (panel for figure in figures for panel in figure.panels):
        x = panel.spec["layer"][0]["encoding"]["x"]
        assert [entry["x"] for entry in panel.spec["data"]["values"]] == list(range(1, cells + 1))
        assert x["scale"]["domain"] == [0.5, cells + 0.5]
        assert x["axis"]["values"][0] == 1
        assert max(x["axis"]["values"]) <= cells
