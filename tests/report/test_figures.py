"""Figures show the records' figures, each once, and say what they leave out."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from assay.charts import marks
from assay.charts.model import Ask, Figure
from assay.charts.palette import Palette
from assay.report.figures.choose import choose
from assay.report.figures.drawing import draw, draw_all
from assay.results import row
from assay.results.folder import Folder, read
from hypothesis import given
from hypothesis import strategies as st


@pytest.fixture(scope="module")
def results(finished: Path) -> Folder:
    return read(finished)


@pytest.fixture(scope="module")
def figures(results: Folder) -> dict[str, Figure]:
    palette = Palette()
    drawn = [draw_all(study, results.of(study.name), palette) for study in results.studies]
    return {figure.id: figure for part in drawn for figure in part}


def test_every_declared_figure_is_drawn(results: Folder, figures: dict[str, Figure]) -> None:
    declared = {f"{study.name}-{one['id']}" for study in results.studies for one in study.figures}
    assert set(figures) == declared
    assert {figure.kind for figure in figures.values()} == {
        "line", "bar", "ladder", "latency-throughput", "timeseries", "heatmap", "interference", "cdf",
    }  # fmt: skip


def test_every_specification_is_vega_lite_over_its_own_data(figures: dict[str, Figure]) -> None:
    for figure in figures.values():
        for panel in figure.panels:
            assert panel.spec["width"] == "container"
            assert panel.spec["data"]["values"]
            assert panel.spec["description"]
            assert "http" not in json.dumps({**panel.spec, "$schema": ""})


def test_a_line_has_every_cell_once_with_its_value(results: Folder, figures: dict[str, Figure]) -> None:
    drawn = {(one["series"], one["panel"], one["x"]): one for one in figures["drop-in-scan-bandwidth"].data}
    rows = row.rows(results.of("drop-in-scan"))
    assert len(drawn) == len(rows) == 16
    words = {"pread": "pread buffered", "mmap": "mmap"}
    for one in rows:
        factors = one.cell.factors
        panel = f"page size {factors['page'] // 1024} KiB"
        entry = drawn[words[factors["path"]], panel, factors["threads"]]
        assert entry["y"] == pytest.approx(one.metric("bandwidth"), rel=1e-5)
        assert entry["cell"] == one.cell.id
        assert entry["verdict"] == one.status


def test_invalid_points_are_crosses_and_suspect_ones_hollow(figures: dict[str, Figure]) -> None:
    bad = [one for one in figures["drop-in-scan-bandwidth"].data if one["bad"]]
    assert [one["verdict"] for one in bad] == ["invalid", "invalid"]
    hollow = [one for one in figures["raw-depth-curve"].data if one["verdict"] == "suspect"]
    assert hollow
    assert all(one["hollow"] for one in hollow)
    assert any("invalid" in note for note in figures["drop-in-scan-bandwidth"].notes)


def test_weak_percentiles_are_hollow(copied: Path) -> None:
    for path in (copied / "records").glob("raw-depth-*.json"):
        record = json.loads(path.read_text())
        record["classes"][0]["service"]["supported_percentile"] = 95.0
        path.write_text(json.dumps(record))
    found = read(copied)
    rows = row.rows(found.of("raw-depth"))
    ask = Ask(id="x", kind="line", x="depth", y="service_p99_ns", series="path")
    drawn = draw(ask, found.of("raw-depth"), rows, Palette())
    assert drawn is not None
    assert all(one["hollow"] for one in drawn.data)
    assert any("weakly supported" in note for note in drawn.notes)


def test_the_ladder_stacks_every_class_and_shows_the_missing_rung(results: Folder, figures: dict[str, Figure]) -> None:
    ladder = figures["dana-ladder-ladder"]
    bars = [one for one in ladder.data if one["metric"] == "bandwidth"]
    assert len(bars) == 16
    for step in {one["x"] for one in bars}:
        parts = [one for one in bars if one["x"] == step]
        assert parts[-1]["to"] == pytest.approx(sum(one["y"] for one in parts), rel=1e-4)
        assert all(before["to"] == after["from"] for before, after in pairwise(parts))
    assert len([one for one in ladder.data if one["metric"] == "cycles_per_byte"]) == 4
    assert any("#5 no file system was not measured: No block device" in note for note in ladder.notes)
    assert "not measured" in json.dumps(ladder.panels[0].spec)


def test_interference_is_against_the_class_alone(figures: dict[str, Figure]) -> None:
    matrix = figures["dana-htap-interference"]
    pairs = {(one["series"], one["x"]) for one in matrix.data}
    assert ("wal", "scan") in pairs
    assert ("scan", "wal") in pairs
    assert ("wal", "all others") in pairs
    assert ("background", "wal") not in pairs
    assert not [pair for pair in pairs if pair[0] == pair[1]]
    assert any("A dash: not measured." in note for note in matrix.notes)


def test_service_and_response_stand_apart(figures: dict[str, Figure]) -> None:
    data = figures["raw-rate-curve"].data
    assert {one["kind"] for one in data} == {"service", "response"}
    for one in data:
        if one["kind"] == "response":
            assert one["service"] < one["y"]
    assert all(one["kind"] == "service" for one in figures["raw-depth-curve"].data)


def test_a_long_series_is_thinned_and_keeps_its_extremes(results: Folder, figures: dict[str, Figure]) -> None:
    series = figures["dana-long-series"]
    intervals = row.rows(results.of("dana-long"))[0].result["intervals"]
    values = [one["bytes"] / one["length_s"] for one in intervals]
    assert len(series.data) < len(intervals) == 2400
    assert max(one["high"] for one in series.data) == pytest.approx(max(values), rel=1e-5)
    assert min(one["low"] for one in series.data) == pytest.approx(min(values), rel=1e-5)
    assert "from 2 min" in json.dumps(series.panels[0].spec)


def test_curves_of_latency_end_where_records_do(results: Folder, figures: dict[str, Figure]) -> None:
    data = figures["raw-depth-cdf"].data
    rows = [
        one for one in row.rows(results.of("raw-depth")) if one.cell.factors == {"path": "libaio+direct", "depth": 16}
    ]
    own = [one for one in data if one["panel"] == "libaio direct" and one["series"] == "16"]
    highest = max(one.result["service"]["max_ns"] for one in rows)
    assert max(one["x"] for one in own) == pytest.approx(highest, rel=2e-3)
    assert own == sorted(own, key=lambda one: one["y"])
    assert {one["supported"] for one in own} == {True, False}


def test_no_two_different_cells_fall_on_one_point(results: Folder) -> None:
    """A figure that names nothing still tells all cells apart."""
    for study in results.studies:
        rows = [one for one in row.rows(results.of(study.name)) if one.cell.scenario == "all"]
        view = choose(Ask(id="x", kind="line"), rows, default_y="bandwidth")
        assert view is not None
        for _, part in view.panels():
            places: dict[tuple[tuple[str, ...], int], set[tuple[str, str]]] = {}
            for one in part:
                key = tuple(repr(one.dimension(name)) for name in (view.ask.x, view.ask.series or "study"))
                places.setdefault((key, one.cell.repeat), set()).add((one.cell.id, one.name))
            assert all(len(found) == 1 for found in places.values())


def test_the_same_name_looks_the_same_in_every_figure() -> None:
    palette = Palette()
    first = palette.keys("path", ["pread", "mmap"])
    second = palette.keys("path", ["io_uring", "mmap"])
    assert first[1].index == second[1].index
    many = palette.keys("path", [f"path {index}" for index in range(8)])
    assert len({key.index for key in many}) == 8


def test_a_metric_that_nobody_has_gives_no_figure(results: Folder) -> None:
    rows = row.rows(results.of("raw-depth"))
    for kind in ("line", "bar", "heatmap"):
        ask = Ask(id="x", kind=kind, y="tlb_misses_per_op")
        assert draw(ask, results.of("raw-depth"), rows, Palette()) is None


def test_an_unknown_kind_is_drawn_as_lines(results: Folder) -> None:
    rows = row.rows(results.of("dana-page"))
    ask = Ask(id="x", kind="hologram", x="page_bytes", y="bandwidth_bytes_per_s")
    drawn = draw(ask, results.of("dana-page"), rows, Palette())
    assert drawn is not None
    assert drawn.kind == "line"


@given(st.lists(st.floats(min_value=0, max_value=250), min_size=1, max_size=6))
def test_labels_beside_lines_do_not_cover_each_other(positions: list[float]) -> None:
    placed = sorted(marks.spread(positions, 250))
    assert all(after - before >= 12.9 for before, after in pairwise(placed))
    assert placed[-1] <= 250 + 1e-9


def test_other_names_of_columns_are_known() -> None:
    names: dict[str, Any] = {"bandwidth_bytes_per_s": "bandwidth", "ops_per_s": "ops_rate", "p99_ns": "service_p99"}
    assert {name: row.canonical(name) for name in names} == names
    assert row.canonical("flush_mean_ns") == "flush_mean"
    assert row.unit("flush_mean_ns") == "ns"
    assert row.metric_title("response_p999_ns") == "p99.9 response time"
