"""The page in a real browser without a network: what it draws is what the records hold."""

import base64
import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from assay.report import write
from report.browser import Browser
from report.test_page import EVIL, poisoned

KINDS = {
    "line": ".mark-symbol path",
    "latency-throughput": ".mark-symbol path",
    "bar": ".mark-rect path, .mark-symbol path",
    "ladder": ".mark-rect path",
    "heatmap": ".mark-rect path",
    "interference": ".mark-rect path",
    "timeseries": ".mark-line path",
    "cdf": ".mark-line path",
}


@pytest.fixture(scope="module")
def page(finished: Path) -> Path:
    return write(finished)


@pytest.fixture
def desktop(browser: Browser, page: Path) -> Browser:
    browser.open(page)
    return browser


def test_it_draws_everything_offline_and_asks_for_nothing(browser: Browser, page: Path) -> None:
    browser.complaints()
    browser.requests()
    browser.open(page)
    plots = browser.ask("document.querySelectorAll('.plot').length")
    assert plots > 20
    assert browser.ask("document.querySelectorAll('.plot svg').length") == plots
    assert browser.complaints() == []
    outside = [url for url in browser.requests() if not url.startswith(("data:", "about:", page.as_uri()))]
    assert outside == []


def test_the_marks_drawn_are_the_data(desktop: Browser, page: Path) -> None:
    """Counted in the SVG, against the records that the folder holds."""
    script = """[...document.querySelectorAll('.plot')].map(node => {
        const kind = [...node.closest('.figure').classList].find(name => name.startsWith('kind-')).slice(5);
        const drawn = node.querySelectorAll(arguments[0][kind]).length;
        return [node.dataset.figure, kind, Number(node.dataset.marks), drawn];
    })"""
    found = desktop.ask(script, KINDS)
    wrong = [(figure, said, drawn) for figure, _, said, drawn in found if said != drawn or drawn == 0]
    assert not wrong
    assert {kind for _, kind, _, _ in found} == set(KINDS)
    drawn = {figure: sum(one[3] for one in found if one[0] == figure) for figure, *_ in found}
    records = [json.loads(path.read_text()) for path in (page.parent / "records").glob("drop-in-scan*.json")]
    assert drawn["drop-in-scan-bandwidth"] == sum(one["verdict"]["status"] != "invalid" for one in records) == 14


def test_bars_are_as_long_as_the_figures(desktop: Browser, page: Path) -> None:
    script = """[...document.querySelectorAll('#fig-dana-ladder-ladder .plot')[0].querySelectorAll('.mark-rect path')]
        .map(node => node.getBBox().width)"""
    widths = desktop.ask(script)
    values = []
    for path in sorted((page.parent / "records").glob("dana-ladder*.json")):
        values += [one["bandwidth"]["value"] for one in json.loads(path.read_text())["classes"]]
    assert len(widths) == len(values) == 16
    scale = sum(widths) / sum(values)
    for width, value in zip(widths, values, strict=True):
        assert width == pytest.approx(value * scale, rel=0.01, abs=0.6)


def test_points_are_as_high_as_the_figures(desktop: Browser, page: Path) -> None:
    """On a linear axis, heights differ as the values do."""
    script = """[...document.querySelectorAll('#fig-dana-page-throughput .mark-symbol path')]
        .map(node => Number(node.getAttribute('transform').match(/translate\\(([^,]+),([^)]+)\\)/)[2]))"""
    heights = desktop.ask(script)
    paths = sorted((page.parent / "records").glob("dana-page*.json"))
    values = [json.loads(path.read_text())["classes"][0]["bandwidth"]["value"] for path in paths]
    assert len(heights) == len(values) == 7
    slope = (heights[0] - heights[2]) / (values[2] - values[0])
    for height, value in zip(heights, values, strict=True):
        assert heights[0] - height == pytest.approx((value - values[0]) * slope, abs=1.0)


@pytest.mark.parametrize("opened", [False, True])
def test_a_narrow_screen_needs_no_sideways_scrolling(browser: Browser, page: Path, opened: bool) -> None:
    browser.open(page, width=360)
    if opened:
        browser.driver.execute_script("for (const part of document.querySelectorAll('details')) part.open = true")
    assert browser.ask("document.documentElement.scrollWidth") == 360
    script = """[...document.querySelectorAll('body *')].filter(node =>
        node.getBoundingClientRect().right > 361 && !node.closest(arguments[0])
    ).map(node => node.outerHTML.slice(0, 120))"""
    assert browser.ask(script, ".scroll, nav, svg, .hidden, .skip, #vg-tooltip-element") == []


def test_labels_beside_lines_give_way_to_a_legend_on_a_narrow_screen(browser: Browser, page: Path) -> None:
    shown = "[...document.querySelectorAll('.figure.direct > .legend')].map(node => node.offsetHeight > 0)"
    browser.open(page)
    assert not any(browser.ask(shown))
    browser.open(page, width=360)
    assert all(browser.ask(shown))


def luminance(colour: list[float]) -> float:
    parts = [part / 255 for part in colour[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: list[float], other: list[float]) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def painted(browser: Browser, selector: str, what: str) -> list[float]:
    script = """getComputedStyle(document.querySelector(arguments[0]))[arguments[1]].match(/[0-9.]+/g).map(Number)"""
    found: list[float] = browser.ask(script, selector, what)
    return found


@pytest.mark.parametrize("dark", [False, True])
def test_both_modes_can_be_read(browser: Browser, page: Path, dark: bool) -> None:
    browser.open(page, dark=dark)
    paper = painted(browser, "body", "backgroundColor")
    assert (luminance(paper) < 0.05) == dark
    for selector, least in (("body", 12), (".where", 4.5), (".answer .bounds", 4.5), (".study a", 4.5), (".met", 4.5)):
        assert contrast(painted(browser, selector, "color"), paper) >= least, selector
    for selector in (".verdict.suspect", ".severity.invalid"):
        assert contrast(painted(browser, selector, "color"), paper) >= 4.5, selector
    axis = painted(browser, ".plot .role-axis-label text", "fill")
    assert contrast(axis, paper) >= 4.5
    assert contrast(painted(browser, "#fig-dana-page-throughput .mark-symbol path", "fill"), paper) >= 3


def test_print_is_light_and_opens_everything(browser: Browser, page: Path) -> None:
    browser.open(page, dark=True)
    before = browser.ask("document.querySelectorAll('details[open]').length")
    browser.driver.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert browser.ask("document.querySelectorAll('details:not([open])').length") == 0
    browser.driver.execute_script("dispatchEvent(new Event('afterprint'))")
    assert browser.ask("document.querySelectorAll('details[open]').length") == before
    scheme = {"name": "prefers-color-scheme", "value": "dark"}
    browser.call("Emulation.setEmulatedMedia", media="print", features=[scheme])
    assert luminance(painted(browser, "body", "backgroundColor")) > 0.9
    assert browser.ask("getComputedStyle(document.querySelector('nav')).display") == "none"
    printed = base64.b64decode(browser.call("Page.printToPDF", printBackground=True)["data"])
    assert printed.startswith(b"%PDF")
    assert printed.count(b"/Type /Page\n") + printed.count(b"/Type /Page/") + printed.count(b"/Type /Page ") > 5


def test_a_number_leads_to_its_record(desktop: Browser) -> None:
    link = desktop.driver.find_element("css selector", ".answer a.number")
    anchor = str(link.get_attribute("href")).partition("#")[2]
    assert not desktop.ask("document.getElementById(arguments[0]).closest('details').open", anchor)
    desktop.driver.execute_script("arguments[0].click()", link)
    desktop.wait("new Promise(done => setTimeout(done, 50))")
    assert desktop.ask("document.getElementById(arguments[0]).closest('details').open", anchor)
    assert desktop.ask("document.getElementById(arguments[0]).querySelector('details').open", anchor)


def test_the_first_tab_reaches_the_skip_link_and_all_controls_have_names(desktop: Browser) -> None:
    for kind in ("rawKeyDown", "keyUp"):
        desktop.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
    assert desktop.ask("document.activeElement.className") == "skip"
    script = "[...document.querySelectorAll('a, button, summary')].filter(node => !node.textContent.trim()).length"
    assert desktop.ask(script) == 0


FIGURES = ["dana-ladder-ladder", "raw-depth-curve", "dana-page-throughput", "dana-htap-interference", "raw-depth-cdf"]


@pytest.mark.parametrize("figure", FIGURES)
def test_figures_are_saved_as_svg_and_png(desktop: Browser, figure: str) -> None:
    svg = desktop.wait("assay.image(arguments[0], 'svg').then(blob => blob.text())", figure)
    assert svg.startswith("<svg")
    assert "var(--" not in svg
    script = "assay.image(arguments[0], 'png').then(blob => blob.slice(0, 24).arrayBuffer())"
    png = desktop.wait(f"{script}.then(head => [...new Uint8Array(head)])", figure)
    assert bytes(png[:8]) == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(bytes(png[16:20]), "big") > 600
    assert desktop.complaints() == []


def test_data_are_saved_as_csv(desktop: Browser, page: Path) -> None:
    text = desktop.wait("assay.csv('drop-in-scan-bandwidth').text()")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 16
    for one in rows:
        record: dict[str, Any] = json.loads((page.parent / "records" / f"{one['cell']}.json").read_text())
        assert float(one["y"]) == pytest.approx(record["classes"][0]["bandwidth"]["value"], rel=1e-5)
        assert one["unit"] == "bytes/s"
        assert one["verdict"] == record["verdict"]["status"]


def test_text_of_records_runs_nothing(browser: Browser, copied: Path) -> None:
    for path in [copied / "study.json", copied / "plan.json", *(copied / "records").glob("*.json")]:
        path.write_text(json.dumps(poisoned(json.loads(path.read_text()))))
    page = write(copied)
    browser.complaints()
    browser.open(page)
    assert browser.ask("document.body.textContent.includes(arguments[0])", EVIL)
    assert browser.ask("document.querySelectorAll('img, b').length") == 0
    assert browser.complaints() == []
