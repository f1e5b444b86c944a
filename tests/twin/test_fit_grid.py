"""Fits of published grids: they recover what made them, and the catalog follows from what is shipped."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from assay import home
from assay.error import AssayError
from assay.target.catalog import parameters
from assay.twin import memory_catalog
from assay.twin.document import to_toml
from assay.twin.fit_grid import fit_kind, hold_out
from assay.twin.fit_report import fit_file
from assay.twin.grid_file import GIB, GridPoint, read_grid
from assay.twin.grid_model import GridShape, Size, bandwidth, share
from hypothesis import given
from hypothesis import strategies as st

SHAPE = GridShape(12.0, 0.2, 0.02, np.inf, 1.0, 3)
SIZE = Size(2.6 * GIB, 2.7 * GIB, 0.4, 8.0, 6.4)
THREADS = (1, 2, 4, 8, 12, 16, 24, 32)


def made(modules: tuple[int, ...] = (1, 2)) -> list[GridPoint]:
    return [
        GridPoint(count, 1024.0, threads, bandwidth(SHAPE, SIZE, count, threads))
        for count in modules
        for threads in THREADS
    ]


def test_a_fit_recovers_the_model_that_made_the_points() -> None:
    fit = fit_kind("sequential_nt", made())
    errors = [abs(fit.predict(point) / point.bytes_per_s - 1) for point in made((1, 2, 4, 6))]
    assert float(np.median(errors)) < 0.01
    assert max(errors) < 0.06


def test_larger_sets_are_held_out_and_one_set_alone_holds_out_nothing() -> None:
    held = hold_out("sequential_nt", made())
    assert held is not None
    assert len(held.errors) == len(THREADS)
    assert held.median <= held.p90 <= held.worst
    assert hold_out("sequential_nt", made((1,))) is None


def test_noise_of_a_few_percent_does_not_move_a_fit_far() -> None:
    random = np.random.default_rng(5)
    noisy = [replace(point, bytes_per_s=point.bytes_per_s * random.normal(1.0, 0.02)) for point in made()]
    fit = fit_kind("sequential_nt", noisy)
    assert max(abs(fit.predict(point) / point.bytes_per_s - 1) for point in made()) < 0.10


@given(
    modules=st.integers(1, 12),
    threads=st.floats(1, 128),
    floor=st.floats(0.2, 1),
    onset=st.floats(1, 40),
    decay=st.floats(0.5, 40),
)
def test_bunching_leaves_between_the_floor_and_everything(
    modules: int, threads: float, floor: float, onset: float, decay: float
) -> None:
    size = Size(1.0, 1.0, floor, onset, decay)
    left = share(size, modules, threads, 3)
    assert floor * 0.5 <= left <= 1 + 1e-9


def test_the_catalog_follows_from_the_shipped_grid_and_figures() -> None:
    """Fits again: shipped parameters that do not follow from what is shipped would be found here."""
    for name, document in memory_catalog.documents().items():
        shipped = tomllib.loads((home.catalog() / "twins" / f"{name}.toml").read_text(encoding="utf-8"))
        fresh = tomllib.loads(to_toml(document))
        _same(shipped, fresh, name)


def _same(one: object, other: object, where: str) -> None:
    if isinstance(one, dict) and isinstance(other, dict):
        assert one.keys() == other.keys(), where
        for key in one:
            _same(one[key], other[key], f"{where}.{key}")
    elif isinstance(one, list) and isinstance(other, list):
        assert len(one) == len(other), where
        for index, pair in enumerate(zip(one, other, strict=True)):
            _same(*pair, f"{where}[{index}]")
    elif isinstance(one, int | float) and isinstance(other, int | float) and not isinstance(one, bool):
        # Optimisers of other versions stop a little earlier or later.
        assert one == pytest.approx(other, rel=0.05, abs=0.02), where
    else:
        assert one == other, where


def test_every_number_of_a_twin_of_memory_has_a_source_and_a_date() -> None:
    for name, document in memory_catalog.documents().items():
        found = list(parameters(document))
        assert len(found) > 5, name
        for place, parameter in [*found, *_curves(document)]:
            assert parameter["source"], f"{name}: {place}"
            assert parameter["date"][:2] == "20", f"{name}: {place}"


def _curves(node: object, where: str = "") -> list[tuple[str, dict[str, str]]]:
    if isinstance(node, dict):
        own = [(where, node)] if "size_bytes" in node and "value" in node else []
        return own + [each for key, inner in node.items() for each in _curves(inner, f"{where}.{key}")]
    return []


def test_a_grid_is_fitted_by_the_command() -> None:
    path = home.catalog() / "published" / "optane-pmem100-256g-1-2-modules.csv"
    found = fit_file(path)
    assert found["certified"]
    assert {kind["kind"] for kind in found["kinds"]} >= {"sequential_read", "random_nt", "random_clwb"}
    assert all(kind["held_out"]["median"] < 0.05 for kind in found["kinds"])
    operations = tomllib.loads(found["toml"])["device"]["operations"]
    assert set(operations) == {
        "sequential_read",
        "random_read",
        "sequential_nt",
        "random_nt",
        "sequential_clwb",
        "random_clwb",
        "sequential_plain",
        "random_plain",
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,2\n", "no column"),
        ("dimms,op,pattern,persist,access_bytes,threads,gib_per_s\n1,read,random,,x,1,1\n", "line 2"),
        ("dimms,op,pattern,persist,access_bytes,threads,gib_per_s\n1,read,random,,64,1,0\n", "not above 0"),
        ("dimms,op,pattern,persist,access_bytes,threads,gib_per_s\n1,custom,,,64,1,1\n", "no kind of access"),
    ],
)
def test_a_grid_that_is_none_is_refused_in_a_sentence(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "grid.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(AssayError, match=words):
        read_grid(path)


def test_a_grid_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match=r"nowhere\.csv"):
        read_grid(tmp_path / "nowhere.csv")
