"""Sliders, filters and the parts that decide, in a real browser without a network."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from advise.folders import Bench, append, read, scan
from assay.report import write
from report import thousand
from report.browser import Browser


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    bench = Bench(tmp_path_factory.mktemp("decide") / "results")
    bench.add(scan(5000, "pread"), "scans", cache="cold")
    bench.add(scan(40000, "io_uring+direct", 32), "scans")
    bench.add(append(1000), "logs", layout="grow")
    bench.add(append(3000), "logs", status="suspect")
    bench.add(read(9000), "reads")
    bench.work("database", "sqlite", "tpcc", 400, parts={"new_order": 0.002, "payment": 0.001, "delivery": 0.01})
    return write(bench.done())


@pytest.fixture
def desktop(browser: Browser, page: Path) -> Browser:
    browser.open(page)
    return browser


def ratio(browser: Browser) -> float:
    return float(browser.ask("document.getElementById('explore-ratio').dataset.value"))


def move(browser: Browser, name: str, value: float) -> None:
    script = """(node => { node.value = arguments[1]; node.dispatchEvent(new Event('input', {bubbles: true})); })(
        document.querySelector(`[data-field="${arguments[0]}"]`))"""
    browser.ask(script, name, str(value))


def test_the_ratio_is_the_formula_over_the_prices_of_the_book(desktop: Browser) -> None:
    data = json.loads(desktop.ask("document.getElementById('assay-cost').textContent"))
    chosen = {
        name: int(desktop.ask("document.querySelector(`[data-field='${arguments[0]}']`).value", name))
        for name in ("load", "storage", "memory", "cpu", "storage-count", "memory-count")
    }
    load = data["loads"][chosen["load"]]
    storage, memory, cpu = (data["parts"][kind][chosen[kind]] for kind in ("storage", "memory", "cpu"))
    busy = round(load["utilisation"], 2)
    cost = storage["usd"] * chosen["storage-count"] + memory["usd"] * chosen["memory-count"]
    cost += load["threads"] * busy * cpu["usd"] / cpu["threads"]
    assert ratio(desktop) == pytest.approx(load["per_s"] / cost, rel=1e-3)


def test_sliders_recompute_and_reset(desktop: Browser) -> None:
    before = ratio(desktop)
    move(desktop, "storage-price", 0.5)
    dearer = ratio(desktop)
    assert dearer < before
    assert "moved; the book has" in desktop.ask("document.getElementById('explore-storage-source').textContent")
    move(desktop, "memory-count", 0)
    assert ratio(desktop) > dearer
    desktop.ask("document.getElementById('explore-reset').click()")
    assert ratio(desktop) == pytest.approx(before)


def test_a_price_of_zero_is_a_sentence(desktop: Browser) -> None:
    for name in ("storage-count", "memory-count", "busy"):
        move(desktop, name, 0)
    assert desktop.ask("document.getElementById('explore-ratio').textContent") == "Nothing is paid for"
    assert "zero" in desktop.ask("document.getElementById('explore-said').textContent")


def test_another_load_leads_to_its_own_record(desktop: Browser) -> None:
    loads = json.loads(desktop.ask("document.getElementById('assay-cost').textContent"))["loads"]
    move(desktop, "load", len(loads) - 1)
    anchor = loads[-1]["anchor"]
    assert desktop.ask("document.getElementById('explore-record').getAttribute('href')") == f"#{anchor}"
    assert desktop.ask("Boolean(document.getElementById(arguments[0]))", anchor)


def test_sliders_move_by_keyboard(desktop: Browser) -> None:
    before = ratio(desktop)
    desktop.ask("document.querySelector('#cost details').open = true")
    desktop.ask("document.querySelector('[data-field=\"memory-count\"]').focus()")
    for kind in ("rawKeyDown", "keyUp"):
        desktop.call("Input.dispatchKeyEvent", type=kind, key="ArrowRight", code="ArrowRight", windowsVirtualKeyCode=39)
    assert ratio(desktop) < before


def shown(browser: Browser) -> list[str]:
    found: list[str] = browser.ask(
        "[...document.querySelectorAll('table.records > tbody')].filter(n => !n.hidden).map(n => n.id)"
    )
    return found


def words(browser: Browser, text: str) -> None:
    script = """(node => { node.value = arguments[0]; node.dispatchEvent(new Event('input', {bubbles: true})); })(
        document.getElementById('filter-words'))"""
    browser.ask(script, text)


def test_records_are_filtered_by_words_and_verdict(desktop: Browser) -> None:
    everything = shown(desktop)
    assert len(everything) == 5
    words(desktop, "because-suspect")
    assert len(shown(desktop)) <= 1
    words(desktop, "wal")
    assert len(shown(desktop)) == 2
    assert desktop.ask("document.getElementById('filter-count').textContent") == "2 of 5 records"
    desktop.ask("document.querySelector('#filter input[value=suspect]').click()")
    assert len(shown(desktop)) == 1
    desktop.ask("document.querySelector('#filter button[type=reset]').click()")
    desktop.wait("new Promise(done => setTimeout(done, 30))")
    assert shown(desktop) == everything


@pytest.mark.parametrize("dark", [False, True])
def test_a_narrow_screen_needs_no_sideways_scrolling(browser: Browser, page: Path, dark: bool) -> None:
    browser.open(page, width=390, dark=dark)
    browser.driver.execute_script("for (const part of document.querySelectorAll('details')) part.open = true")
    assert browser.ask("document.documentElement.scrollWidth") == 390
    script = """[...document.querySelectorAll('main *')].filter(node =>
        node.getBoundingClientRect().right > 391 && !node.closest('.scroll, nav, svg, .hidden')
    ).map(node => node.outerHTML.slice(0, 120))"""
    assert browser.ask(script) == []


def test_every_control_has_a_name(desktop: Browser) -> None:
    script = """[...document.querySelectorAll('input, select')].filter(node =>
        !node.labels.length || !node.labels[0].textContent.trim()).map(node => node.outerHTML)"""
    assert desktop.ask(script) == []


def test_nothing_is_asked_of_a_network_and_nothing_complains(browser: Browser, page: Path) -> None:
    browser.complaints()
    browser.requests()
    browser.open(page)
    move(browser, "months", 12)
    assert browser.complaints() == []
    assert [url for url in browser.requests() if not url.startswith(("data:", "about:", page.as_uri()))] == []


def test_a_saved_picture_carries_its_conditions(desktop: Browser) -> None:
    figure = desktop.ask("document.querySelector('.study .figure .tools').dataset.tools")
    svg = desktop.wait("assay.image(arguments[0], 'svg').then(blob => blob.text())", figure)
    assert "SAMSUNG" in svg or "ext4 on nvme0n1" in svg or "page cache" in svg or figure.startswith("work-")


def test_a_thousand_runs_fit_into_three_megabytes_and_are_drawn(browser: Browser, tmp_path: Path) -> None:
    page = write(thousand.write(tmp_path / "results"))
    assert page.stat().st_size < 3_000_000
    browser.complaints()
    browser.open(page)
    assert browser.complaints() == []
    assert browser.ask("document.querySelectorAll('table.records > tbody').length") == 1000
    assert browser.ask("document.querySelectorAll('.plot svg').length") > 0
    words(browser, "sweep-0007-r1")
    assert shown(browser) == ["cell-sweep-0007-r1"]
    paints = browser.ask("performance.getEntriesByType('paint').map(entry => [entry.name, entry.startTime])")
    print(f"size {page.stat().st_size}, paints {paints}")  # Seen by -s; no time is asserted.
