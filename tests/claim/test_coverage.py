"""Bands from figures that were left out: the method, the shipped file, and what answers make of it."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from assay import home
from assay.claim import coverage
from assay.claim.coverage import CoveredFigure
from assay.cli.twins.covering import table
from assay.target import catalog, names
from assay.twin import beside_file
from assay.twin.predict import Point, predict


def drawn(generator: np.random.Generator, groups: int, each: int) -> list[CoveredFigure]:
    return [
        CoveredFigure("k", f"g{g}", float(generator.normal(0.0, 0.1)), 0.2) for g in range(groups) for _ in range(each)
    ]


def test_left_out_groups_lie_within_nine_times_of_ten() -> None:
    generator = np.random.default_rng(5)
    rows = [coverage.rows(drawn(generator, 6, 10))[0] for _ in range(100)]
    shares = [row.left_out for row in rows if row.left_out is not None]
    assert len(shares) == 100
    assert 0.87 < sum(shares) / 100 < 0.95


def test_too_few_figures_make_no_width() -> None:
    assert coverage.width_of([0.1] * (coverage.FIGURES_AT_LEAST - 1)) is None
    assert coverage.width_of([0.1, -0.1] * 20) == pytest.approx(math.expm1(0.1), abs=1e-4)
    assert coverage.width_of([9.0] * 20) == coverage.WIDEST


def test_the_shipped_bands_name_their_figures() -> None:
    shipped = catalog.bands()
    assert set(shipped["drives"]) == set(coverage.JOINED)
    assert set(shipped["pmem"]) == set(coverage.ON_MEMORY)
    for band in (*shipped["drives"].values(), *shipped["pmem"].values()):
        assert 0.03 <= band["value"] <= coverage.WIDEST
        assert "published figures" in band["source"]
    drive = names.target("raid0:p4610*2")["member"]["twin"]["band"]
    assert drive["joined"] == shipped["drives"]
    assert names.target("pmem100-256g")["twin"]["band"]["joined"] == shipped["pmem"]
    assert "joined" not in names.target("ddr4-2666-32g")["twin"]["band"]


def test_the_shipped_bands_are_what_the_command_makes(assayer: object) -> None:
    assert assayer
    made, shipped = coverage.bands(coverage.of_bands()), catalog.bands()
    for kind in ("drives", "pmem"):
        for key, band in made[kind].items():
            said = f"{kind}.{key} of catalog/bands.toml is stale: python -m assay.claim.coverage makes it anew"
            assert shipped[kind][key]["source"] == band["source"], said
            assert shipped[kind][key]["value"] == pytest.approx(band["value"], rel=0.02), said


def test_a_question_that_joins_loads_has_a_band_of_its_kind(assayer: object) -> None:
    assert assayer
    alone = Point("twin:p4610", depth=16)
    mixed = predict(replace(alone, read_percent=70.0))["band"]["bandwidth"]
    cached = predict(replace(alone, depth=1, path="pread"))["band"]["bandwidth"]
    own = catalog.twin("p4610")["band"]["bandwidth"]["value"]
    least = {key: band["value"] for key, band in catalog.bands()["drives"].items()}
    assert predict(alone)["band"]["bandwidth"] == pytest.approx(own)
    assert mixed == pytest.approx(max(own, least["mix"]))
    assert cached == pytest.approx(max(own, least["page_cache"]))


def test_one_load_on_memory_has_a_band_of_its_kind(assayer: object, tmp_path: Path) -> None:
    assert assayer
    least = {key: band["value"] for key, band in catalog.bands()["pmem"].items()}
    granules = Point("twin:pmem100-256g*6", threads=4, path="pmem")
    lines, calls = replace(granules, size_bytes=64), replace(granules, path="pread")
    assert predict(granules)["band"]["bandwidth"] == pytest.approx(least["granules"])
    for point in (lines, calls):
        assert predict(point)["band"]["bandwidth"] == pytest.approx(least["calls_or_lines"])
    # Who fitted a twin on his own machine knows from that fit how far off it is.
    mine = tmp_path / "mine.toml"
    mine.write_text((home.catalog() / "twins" / "pmem100-256g.toml").read_text(encoding="utf-8"), encoding="utf-8")
    own = catalog.twin("pmem100-256g")["band"]["bandwidth"]["value"]
    assert predict(replace(granules, on=f"twin:{mine}"))["band"]["bandwidth"] == pytest.approx(own)


def test_figures_of_one_load_on_memory_lie_in_their_bands(assayer: object) -> None:
    assert assayer
    found = [figure for figure in coverage.of_bands() if figure.kind in coverage.ALONE]
    assert len(found) >= 20
    assert sum(figure.inside for figure in found) >= 0.85 * len(found)


def test_a_width_holds_the_figure_that_made_it() -> None:
    misses = [0.2612345 + 0.001 * place for place in range(9)]
    width = coverage.width_of(misses)
    assert width is not None
    assert math.log1p(width) >= misses[-1]


def test_a_figure_of_another_set_up_makes_no_band(assayer: object) -> None:
    assert assayer
    unlike = [figure for figure in coverage.published("dana") if figure.kind == coverage.UNLIKE]
    assert len(unlike) == 3
    # It counts where all figures are counted, and has a line of its own.
    assert [row.inside for row in coverage.rows(unlike)] == [0.0, 0.0]


def test_readers_beside_writers_are_those_of_the_shipped_table(assayer: object) -> None:
    assert assayer
    found = list(coverage.beside())
    assert sum(figure.kind == coverage.MEMORY for figure in found) == 18
    assert sum(figure.inside for figure in found) >= 6
    assert {row.modules for row in beside_file.read()} == {1, 2, 4}


def test_the_page_has_the_columns_of_the_command() -> None:
    page = (home.catalog().parent / "docs" / "twins-bands.md").read_text(encoding="utf-8")
    head, rule = table([])
    assert f"{head}\n{rule}" in page.replace("\n    ", "\n"), (
        "assay twin coverage prints the table of docs/twins-bands.md"
    )
