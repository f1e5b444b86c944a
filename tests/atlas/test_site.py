"""The atlas holds everything that the catalog holds, and what was sent to it."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest
from assay import home
from assay.atlas import site as sites
from assay.error import AssayError
from assay.passport import read
from assay.target import catalog
from assay.untyped import Json
from commands import assay


@pytest.fixture(scope="module")
def entries(atlas: Path) -> dict[str, Json]:
    return {one["slug"]: one for one in json.loads((atlas / "atlas.json").read_text())["entries"]}


def test_every_twin_and_every_instance_has_its_page(atlas: Path, entries: dict[str, Json]) -> None:
    assert set(catalog.twins()) <= set(entries)
    with (home.catalog() / "prices" / "instances.csv").open(newline="") as file:
        instances = {f"{one['cloud']} {one['instance']}" for one in csv.DictReader(file)}
    titled = {one["title"] for one in entries.values()}
    own = {f"aws {name.replace('-', '.', 1)}" for name in catalog.twins()}
    assert instances - own <= titled
    assert {path.stem for path in (atlas / "d").glob("*.html")} == set(entries)


def test_a_page_has_sheet_twin_error_and_price(atlas: Path, entries: dict[str, Json]) -> None:
    gp3 = entries["gp3"]
    assert {"capacity bytes", "max iops"} <= {one["name"] for one in gp3["facts"]}
    assert any("GB-month" in one["said"] for one in gp3["prices"])
    assert {one["id"] for one in gp3["twin"]["figures"]} >= {"read.service_p50", "scan.bandwidth"}
    assert {one["name"] for one in gp3["twin"]["error"]} == {"bandwidth", "latency", "tail"}
    local = entries["i3en-large"]
    assert any("per month" in one["said"] for one in local["prices"])
    assert all(one["source"] and one["date"] for one in (*gp3["facts"], *local["facts"]))
    page = (atlas / "d" / "gp3.html").read_text()
    assert all(f'id="{part}"' in page for part in ("measured", "twin", "price", "sheet"))


def test_a_passport_stands_on_the_page_of_its_twin(atlas: Path, entries: dict[str, Json]) -> None:
    (one,) = entries["970evoplus"]["taken"]
    assert one["signature"].startswith("key ")
    assert {"initialised", "cached", "collected"} == {name for name, *_ in one["state"]}
    assert any(figure["inside"] for figure in one["figures"])
    assert {figure["provenance"] for figure in one["figures"]} == {"modelled"}
    copy = atlas / one["file"]
    assert read.read(copy).good
    assert (atlas / one["badge"]).read_text().startswith("<svg")


def test_a_result_folder_is_unsigned(entries: dict[str, Json]) -> None:
    unsigned = [one for entry in entries.values() for one in entry["taken"] if one["signature"].startswith("none")]
    assert len(unsigned) == 1
    assert unsigned[0]["file"] == ""


def test_what_a_stranger_wrote_is_text(atlas: Path) -> None:
    pages = [(atlas / "d" / "970evoplus.html").read_text(), (atlas / "index.html").read_text()]
    assert not [page for page in pages if '<script>alert("x")' in page]
    assert "&lt;script&gt;alert(" in pages[0]


def test_pages_ask_nobody_for_anything(atlas: Path) -> None:
    for path in (atlas / "index.html", *sorted((atlas / "d").glob("*.html"))[::150]):
        page = path.read_text()
        assert "Content-Security-Policy" in page
        assert not re.search(r"""(?:src|href)=["'](?:https?:)?//""", page), path


def test_it_is_built_again_in_its_own_folder_and_in_no_other(atlas: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("precious")
    done = assay("atlas", "build", str(tmp_path))
    assert done.returncode == 2
    assert "is no atlas" in done.stderr
    assert [one.name for one in tmp_path.iterdir()] == ["mine.txt"]
    with pytest.raises(AssayError, match="is not there"):
        sites.build(tmp_path / "site", [tmp_path / "nowhere"])


def test_links_of_the_site_lead_somewhere(atlas: Path) -> None:
    for path in (atlas / "index.html", atlas / "d" / "970evoplus.html", atlas / "d" / "gp3.html"):
        for link in re.findall(r'href="([^"#]+)"', path.read_text()):
            if not link.startswith("data:"):
                assert (path.parent / link).exists(), link
