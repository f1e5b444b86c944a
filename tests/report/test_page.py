"""The page is whole, loads nothing, and takes no orders from the text of records."""

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from assay.report import write
from assay.results import interval
from report.page import Page, parse

EVIL = "</script><script>evil()</script><img src=x onerror=evil()>\"'&<b>${7*7}{{7*7}}\u2028"


@pytest.fixture(scope="module")
def page(finished: Path) -> Page:
    return parse(write(finished).read_text())


def test_every_link_inside_the_page_leads_somewhere(page: Page) -> None:
    targets = [one["href"] for one in page.all("a")]
    assert len(targets) > 60
    assert all(target.startswith("#") for target in targets)
    assert {target[1:] for target in targets} <= set(page.ids)


def test_every_id_stands_once(page: Page) -> None:
    assert len(page.ids) == len(set(page.ids))


def test_nothing_is_loaded_from_anywhere(page: Page) -> None:
    for tag in ("script", "img", "iframe", "object", "embed", "source", "video", "audio"):
        assert not [one for one in page.all(tag) if one.get("src") or one.get("data")]
    assert [one["href"] for one in page.all("link")] == ["data:,"]
    policy = next(one["content"] for one in page.all("meta") if one.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy
    assert not re.search(r"https?:", policy)


def test_every_record_has_its_row_and_every_study_its_section(page: Page, finished: Path) -> None:
    names = {path.stem for path in (finished / "records").glob("*.json")}
    assert {f"cell-{name}" for name in names} <= set(page.ids)
    studies = json.loads((finished / "study.json").read_text())["studies"]
    assert {f"study-{one['name']}" for one in studies} <= set(page.ids)


def test_what_was_not_measured_stands_there_with_reason_and_fix(page: Page) -> None:
    text = " ".join(page.texts)
    assert "8 cells: path io_uring buffered" in text
    assert "io_uring is switched off on this machine (kernel.io_uring_disabled is 2)." in text
    assert "Allow it: sysctl kernel.io_uring_disabled=0." in text


def test_every_reason_is_explained_and_linked(page: Page) -> None:
    assert {"reason-page-cache-served", "reason-depth-not-reached", "reason-rate-not-reached"} <= set(page.ids)
    text = " ".join(page.texts)
    assert "48.2 operations were in flight on average, 64 were asked for." in text


def test_headings_go_down_one_step_at_a_time(page: Page) -> None:
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_every_picture_says_in_words_what_it_shows_and_under_which_conditions(page: Page) -> None:
    plots = [one for one in page.all("div") if "plot" in one.get("class", "").split()]
    assert len(plots) > 20
    assert all(one.get("role") == "img" and one.get("aria-label") for one in plots)
    assert sum("ext4 on nvme0n1" in one["aria-label"] for one in plots) > 20


def test_an_ordinary_page_is_below_three_megabytes(finished: Path) -> None:
    assert write(finished).stat().st_size < 3_000_000


def test_the_same_folder_gives_the_same_page(finished: Path) -> None:
    assert write(finished).read_bytes() == write(finished).read_bytes()


def poisoned(value: Any, key: str = "") -> Any:
    """Every text that is free, with something evil in it."""
    kept = {"kind", "code", "severity", "status", "unit", "provenance", "method", "histogram", "id", "cell", "study"}
    kept |= {"scenario", "cache", "x", "y", "series", "facet", "stop", "layout", "content", "scope", "name", "state"}
    if isinstance(value, dict):
        return {name: poisoned(part, name) for name, part in value.items()}
    if isinstance(value, list):
        return [poisoned(part, key) for part in value]
    return value + EVIL if isinstance(value, str) and key not in kept else value


def test_text_of_records_stays_text(copied: Path) -> None:
    for path in [copied / "study.json", copied / "plan.json", *(copied / "records").glob("*.json")]:
        path.write_text(json.dumps(poisoned(json.loads(path.read_text()))))
    text = write(copied).read_text()
    page = parse(text)
    assert "evil()" in text
    assert not page.all("img")
    assert not page.all("b")
    assert all(not name.startswith("on") for _, attributes in page.elements for name in attributes)
    assert [one.get("type", "") for one in page.all("script")] == ["application/json", "application/json", "", "", ""]
    assert "49" not in [part.strip() for part in page.texts]


def test_names_with_markup_in_them_stay_names(copied: Path) -> None:
    """Ids of cells and studies go into attributes, addresses and commands."""
    evil = 'x"><script>evil()</script>$(touch evil)'
    for path in [copied / "study.json", copied / "plan.json", *(copied / "records").glob("raw-depth*.json")]:
        path.write_text(path.read_text().replace("raw-depth", json.dumps(evil)[1:-1]))
    page = parse(write(copied).read_text())
    assert len(page.all("script")) == 5
    assert any(evil in one for one in page.ids)
    commands = [one["data-copy"] for one in page.all("button") if "assay run" in one.get("data-copy", "")]
    assert all("$(" not in command.replace("'$(", "") or "'" in command for command in commands)


def test_the_page_says_how_intervals_are_made_as_they_are(page: Page) -> None:
    """It once named six repeats and blocks that are drawn again, long after neither was so."""
    said = "".join(page.texts)
    assert f"Over {interval.RUNS_FOR_BOOTSTRAP} or more repeats: bootstrap" in said
    assert f"Over {interval.RUNS_FOR_STUDENT} or more: Student" in said
