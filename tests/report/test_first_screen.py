"""What a person sees before scrolling: the sentence, the trust bar, the ladder; and how long the page is."""

from __future__ import annotations

from pathlib import Path

import pytest
from assay import home
from assay.report import answers, write
from assay.report.answer import headline, known, rungs
from assay.results import folder as results
from assay.results import row
from report.browser import Browser
from report.synthetic import drive, folder
from report.synthetic.folder import Synthetic
from report.synthetic.record import reason

SCREENS = [(1440, 900), (390, 844)]


@pytest.fixture(scope="module")
def page(finished: Path) -> Path:
    return write(finished)


@pytest.mark.parametrize(("width", "height"), SCREENS)
def test_sentence_trust_and_ladder_stand_on_the_first_screen(
    browser: Browser, page: Path, width: int, height: int
) -> None:
    browser.open(page, width=width, height=height)
    for part in (".sentence", ".trust .bar", ".trust .counts", ".steps tr:last-child"):
        bottom = browser.ask("document.querySelector(arguments[0]).getBoundingClientRect().bottom", part)
        assert 0 < bottom <= height, part


@pytest.mark.parametrize(("width", "height"), SCREENS)
def test_the_page_is_shorter_than_eight_screens(browser: Browser, page: Path, width: int, height: int) -> None:
    browser.open(page, width=width, height=height)
    assert browser.ask("document.documentElement.scrollHeight") < 8 * height


def test_what_is_folded_was_drawn_at_its_width(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.driver.execute_script("for (const part of document.querySelectorAll('details')) part.open = true")
    script = "[...document.querySelectorAll('.plot svg')].map(node => node.getBoundingClientRect().width)"
    assert min(browser.ask(script)) > 100


def test_print_shows_every_explanation(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.driver.execute_script("dispatchEvent(new Event('beforeprint'))")
    browser.call("Emulation.setEmulatedMedia", media="print")
    for part in ("#reading .facts", "#reasons .reason", "figcaption", ".answer .caveat"):
        assert browser.ask("document.querySelector(arguments[0]).getBoundingClientRect().height > 0", part), part


def test_the_sentence_has_the_first_figures_of_the_answers(finished: Path) -> None:
    found = answers(finished)
    sentence = headline.find(found)
    assert sentence is not None
    named = {one.topic: one.numbers[0].text for one in found if one.numbers}
    assert [number.text for number in sentence.numbers] == [named[name] for name in ("latency", "commit", "scan")]
    assert sentence.plain.startswith("A random 4 KiB read takes ")


def test_a_rung_that_loses_says_so(finished: Path) -> None:
    ladder = rungs.find(results.read(finished))
    assert ladder is not None
    for before, rung in zip(ladder.rungs, ladder.rungs[1:], strict=False):
        if rung.kind == "loss":
            assert rung.change.startswith("\u2212")
            assert rung.share < before.share
        if rung.kind == "gain":
            assert rung.share > before.share


def test_the_drive_stands_among_known_ones(finished: Path) -> None:
    scales = known.scales(row.rows(results.read(finished).cells))
    assert "reads" in [scale.noun for scale in scales]
    for scale in scales:
        assert sum(mark.own is not None for mark in scale.marks) == 1
        assert scale.between.startswith(("between ", "near ", "faster than ", "slower than ", "anywhere from "))
        places = [mark.place for mark in scale.marks]
        assert places == sorted(places)
        assert all("modelled by twin:" in mark.title for mark in scale.marks if mark.own is None)


def test_known_drives_are_what_their_twins_say() -> None:
    """The file is written by tools/known_drives.py; a twin that changed makes it stale."""
    from assay.twin.predict import Point, predict

    assert (home.catalog() / "known" / "drives.json").is_file()
    for one in known.drives():
        found = predict(Point(on=f"twin:{one['twin']}", path="pread+direct"))
        assert round(found["latency_ns"]["p50"]) == one["read_p50_ns"]["value"], one["twin"]


def test_a_read_that_waits_for_read_ahead_is_explained(tmp_path: Path) -> None:
    """4 KiB by mmap took 7.5 ms and nothing said why: the device read two hundred times what was asked for."""
    model = lambda *_: [drive.read_shape("s", "mmap", 4096)]  # noqa: E731
    numbers = {"asked_bytes": 1e6, "device_bytes": 2.2e8}
    more = [reason("device-bytes-differ", "note", "more was read", "advise random") | {"numbers": numbers}]
    study = Synthetic("s", "s", "", "", {"size": [4096]}, model, [], reasons=lambda *_: more)
    text = write(folder.write(tmp_path, [study])).read_text()
    assert "Through mmap the device read up to 220x what was asked for" in text.replace("\u00a0", " ")
