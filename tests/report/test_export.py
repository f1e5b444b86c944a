"""Figures as files: pictures that are pictures, and tables that hold what the figures show."""

import csv
from pathlib import Path

import altair as alt
import pytest
from assay.charts import marks
from assay.charts.export import file_name, whole
from assay.charts.model import Figure
from assay.report import write
from assay.results.folder import read
from assay.results.row import rows
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet


@pytest.fixture(scope="module")
def exported(finished: Path) -> Path:
    write(finished, export=True)
    return finished / "figures"


def test_every_figure_is_written_in_four_forms(exported: Path) -> None:
    stems = {path.name.rpartition(".")[0] for path in exported.iterdir()}
    assert len(stems) == 16
    assert {path.name for path in exported.iterdir()} == {
        f"{stem}.{kind}" for stem in stems for kind in ("svg", "png", "csv", "parquet")
    }
    for path in exported.iterdir():
        head = path.read_bytes()[:8]
        expected = {".png": b"\x89PNG\r\n\x1a\n", ".svg": b"<svg", ".parquet": b"PAR1"}.get(path.suffix, b"panel")
        assert head.startswith(expected), path.name


def test_pictures_name_no_variables_of_the_page_and_carry_a_legend(exported: Path) -> None:
    for path in exported.glob("*.svg"):
        assert "var(--" not in path.read_text()
    assert "io_uring direct" in (exported / "raw-depth-curve.svg").read_text()
    ladder = (exported / "dana-ladder-ladder.svg").read_text()
    assert all(f">{name}<" in ladder for name in ("scan", "point", "background", "wal"))


def test_both_tables_hold_the_records_figures(exported: Path) -> None:
    expected = {one.cell.id: one.metric("bandwidth") for one in rows(read(exported.parent).of("drop-in-scan"))}
    columns = parquet.read_table(exported / "drop-in-scan-bandwidth.parquet").to_pylist()
    with (exported / "drop-in-scan-bandwidth.csv").open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert {one["cell"]: one["y"] for one in columns} == pytest.approx(expected, rel=1e-5)
    assert {one["cell"]: float(one["y"]) for one in lines} == pytest.approx(expected, rel=1e-5)
    assert {one["unit"] for one in columns} == {"bytes/s"}


@given(st.text(max_size=40))
def test_file_names_stay_in_their_folder(name: str) -> None:
    found = file_name(name)
    assert found
    assert "/" not in found
    assert not found.startswith(".")


def test_panels_of_one_picture_keep_the_names_of_their_own_bars() -> None:
    panels = []
    for names in (["a", "b"], ["c"]):
        y, heads, height = marks.headed(names, 10.0)
        bars = alt.Chart().mark_bar().encode(y=y)
        panels.append(marks.finish([bars, heads], [], title="", height=height, says="", counts=0))
    spec = whole(Figure("x", "x", "bar", "", tuple(panels), (), "", (), wide=True))
    layers = [layer for panel in spec["concat"] for layer in panel["layer"] if "name" in layer]
    assert len({layer["name"] for layer in layers}) == len(layers) == 2
    assert [len(layer["data"]["values"]) for layer in layers] == [2, 1]
