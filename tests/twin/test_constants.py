"""Where the catalog's constants come from, and documents that take over from others."""

from __future__ import annotations

from pathlib import Path

import pytest
from assay import home
from assay.target import catalog
from assay.target.catalog import CatalogError
from assay.twin import constants

CLASS = """
version = 1
name = "class"
title = "a class"
capacity_bytes = { value = 9, kind = "datasheet", source = "a sheet", date = "2020-01" }

[device]
a = { value = 1, kind = "fitted", source = "a fit", date = "2020-01" }
b = { value = 2, kind = "assumed", source = "a guess", date = "2020-01" }
"""
OWN = """
version = 1
name = "own"
title = "its own"
like = "class"
capacity_bytes = { value = 5, kind = "datasheet", source = "its sheet", date = "2021-01" }

[device]
b = { value = 3, kind = "published", source = "a paper", date = "2021-01" }
"""


def test_at_most_a_quarter_of_the_constants_is_assumed() -> None:
    kinds = constants.stated()
    assert kinds["assumed"] <= 0.25 * kinds.total(), dict(kinds)
    assert set(kinds) <= set(constants.KINDS)


def test_at_least_forty_twins_come_from_measured_records() -> None:
    assert len(constants.from_records()) >= 40


def test_what_is_taken_over_is_an_assumption(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder, name, text in (("classes", "class", CLASS), ("twins", "own", OWN)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{name}.toml").write_text(text)
    monkeypatch.setattr(home, "catalog", lambda: tmp_path)
    found = catalog.twin("own")
    assert (found["name"], found["capacity_bytes"]["value"]) == ("own", 5)
    assert "like" not in found
    assert found["device"]["b"]["kind"] == "published"
    assert (found["device"]["a"]["kind"], found["device"]["a"]["source"]) == ("assumed", "As of class: a fit")
    (tmp_path / "classes" / "class.toml").unlink()
    with pytest.raises(CatalogError, match="class"):
        catalog.twin("own")


def test_a_derived_constant_states_its_formula() -> None:
    for document in catalog.everything():
        for place, one in catalog.parameters(document):
            if one["kind"] == "derived":
                assert "*" in one["source"] or "/" in one["source"], f"{document['name']}: {place}"
