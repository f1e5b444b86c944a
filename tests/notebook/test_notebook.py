"""What docs/notebook.md shows works in a notebook: cells are run by a kernel of their own, as a user's are."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

CELLS = (
    "import assay",
    'results = assay.run("raw-depth", on="twin:p4610", settings={"measure": "1s"}, profile="quick", out="depth")',
    "results",
    'results.arrow("classes").num_rows',
    "results.chart(results.charts[0])",
    'assay.compare("twin:p4610", "twin:p5800x", out="pair")',
    'len(assay.load("depth").classes)',
)


@pytest.mark.usefixtures("assayer")
# The libraries of notebooks warn of things of their own.
@pytest.mark.filterwarnings("default")
def test_a_notebook_runs_measures_and_shows(tmp_path: Path) -> None:
    code = [{"cell_type": "code", "id": f"cell-{at}", "source": text} for at, text in enumerate(CELLS)]
    empty: dict[str, object] = {"execution_count": None, "metadata": {}, "outputs": []}
    document = {"cells": [one | empty for one in code], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    book = nbformat.from_dict(document)  # type: ignore[no-untyped-call]
    NotebookClient(book, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [_data(cell) for cell in book.cells]
    assert "<dl>" in shown[2]["text/html"]
    assert int(shown[3]["text/plain"]) > 3
    assert any("vega" in kind or "vega" in str(data) for kind, data in shown[4].items())
    assert "<table>" in shown[5]["text/html"]
    assert "twin:p5800x" in shown[5]["text/plain"]
    assert shown[6]["text/plain"] == shown[3]["text/plain"]


def _data(cell: nbformat.NotebookNode) -> dict[str, str]:
    """What a cell shows, by kind; a chart lists its kinds."""
    found: dict[str, str] = {}
    for one in cell.outputs:
        found |= one.get("data", {})
    return found
