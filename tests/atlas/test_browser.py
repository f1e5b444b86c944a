"""The atlas in a real browser without a network and without a server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from report import browser as browsers
from report.browser import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsers.browser() as found:
        yield found


def opened(browser: Browser, path: Path, width: int = 1280) -> Browser:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.call("Emulation.setDeviceMetricsOverride", **size)
    browser.driver.get("about:blank")
    browser.complaints()
    browser.requests()
    browser.driver.get(path.as_uri())
    return browser


SEARCH = """
    const box = document.getElementById('search'), kind = document.getElementById('kind');
    kind.value = arguments[1];
    kind.dispatchEvent(new Event('change'));
    box.value = arguments[0];
    box.dispatchEvent(new Event('input'));
    return [...document.querySelectorAll('#found tr')].map(row => row.querySelector('a').textContent);
"""


def search(browser: Browser, words: str, kind: str = "") -> list[str]:
    """Names that a search finds."""
    found: list[str] = browser.driver.execute_script(SEARCH, words, kind)
    return found


def test_the_search_finds_and_asks_nobody(browser: Browser, atlas: Path) -> None:
    opened(browser, atlas / "index.html")
    assert browser.complaints() == []
    assert browser.ask("getComputedStyle(document.querySelector('table')).borderCollapse") == "collapse"
    outside = [url for url in browser.requests() if not url.startswith(("data:", "about:", "file:"))]
    assert outside == []
    first = search(browser, "")
    assert len(first) > 40
    assert first[0] != search(browser, "p5800x")[0]
    assert all("i3en" in name for name in search(browser, "aws i3en"))
    assert len(search(browser, "", "volume")) == len([one for one in search(browser, "ebs") if "EBS" in one])
    assert search(browser, "nothing of this name") == []
    assert search(browser, "") == first


def test_a_page_is_one_click_away(browser: Browser, atlas: Path) -> None:
    opened(browser, atlas / "index.html")
    search(browser, "970 evo plus")
    browser.driver.execute_script("document.querySelector('#found a').click()")
    assert browser.ask("document.querySelector('h1').textContent") == "Samsung 970 EVO Plus 1 TB"
    assert browser.ask("document.querySelectorAll('#measured tbody tr').length") >= 5
    assert browser.ask("getComputedStyle(document.querySelector('table')).borderCollapse") == "collapse"
    assert browser.complaints() == []


@pytest.mark.parametrize("name", ["index.html", "d/970evoplus.html"])
def test_a_narrow_screen_needs_no_sideways_scrolling(browser: Browser, atlas: Path, name: str) -> None:
    opened(browser, atlas / name, width=360)
    assert browser.ask("document.documentElement.scrollWidth") == 360
