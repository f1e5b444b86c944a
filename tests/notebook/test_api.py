"""`assay.run`, `assay.compare` and `assay.load` do from Python what the commands do."""

from __future__ import annotations

from pathlib import Path

import assay
import pyarrow as pa
import pytest
from assay.error import AssayError
from assay.notebook import Frames

pytestmark = pytest.mark.usefixtures("assayer")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory, assayer: Path) -> Frames:
    """A study on a twin: in virtual time, and the same on every machine."""
    out = tmp_path_factory.mktemp("notebook") / "depth"
    return assay.run("raw-depth", on="twin:p4610", settings={"measure": "1s"}, profile="quick", out=out)


def test_a_run_gives_frames_and_html(results: Frames) -> None:
    assert len(results.classes) > 3
    assert set(results.classes["provenance"]) == {"modelled"}
    html = results._repr_html_()
    assert "records" in html
    assert "valid" in html
    assert all(answer.question in html for answer in results.answers)


def test_tables_and_queries_come_as_arrow(results: Frames) -> None:
    table = results.arrow("classes")
    assert isinstance(table, pa.Table)
    assert table.num_rows == len(results.classes)
    assert pa.types.is_floating(table.schema.field("bandwidth_bytes_per_s").type)
    counted = results.arrow("select count(*) as n from runs")
    assert counted.column("n").to_pylist() == [len(results.runs)]
    with pytest.raises(AssayError, match="query failed"):
        results.arrow("select nothing from nowhere")


def test_two_twins_are_compared_in_the_right_direction(tmp_path: Path) -> None:
    found = assay.compare("twin:p4610", "twin:p5800x", out=tmp_path / "pair")
    row = found.frame.set_index("title").loc["one 4 KiB read, median"]
    assert row["times_as_good"] > 2, "an Optane drive answers one read sooner than a flash drive"
    assert "twin:p5800x" in found.sentence
    assert found.arrow().num_rows == len(found.frame)
    html = found._repr_html_()
    assert "<table>" in html
    assert html.count("<tr>") == len(found.frame) + 1


def test_two_results_are_compared_as_the_command_compares_them(results: Frames, tmp_path: Path) -> None:
    other = assay.run("raw-depth", on="twin:p5800x", settings={"measure": "1s"}, profile="quick", out=tmp_path / "o")
    found = assay.compare(results, other.directory)
    assert len(found.frame) > 3
    assert repr(found) == found.sentence


def test_what_makes_no_sense_is_refused_before_anything_is_made(results: Frames, tmp_path: Path) -> None:
    with pytest.raises(AssayError, match="does not exist"):
        assay.run("raw-depth", on=tmp_path / "gone", out=tmp_path / "never")
    with pytest.raises(AssayError, match="one of these is a result"):
        assay.compare(results, tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with pytest.raises(AssayError, match="3 pairs can decide none"):
        assay.compare(tmp_path / "a", tmp_path / "b", pairs=3, out=tmp_path / "never")
    with pytest.raises(AttributeError, match="nothing_of_ours"):
        assay.nothing_of_ours  # noqa: B018
    assert not (tmp_path / "never").exists()
