"""Claims in a report, in a real browser: every figure leads to what it comes from."""

from __future__ import annotations

from pathlib import Path

import pytest
from advise.folders import Bench, read
from assay.claim.reproduce import document, reproduce
from assay.report import write
from assay.report.view.claims import document as documents
from assay.report.view.claims import write as write_claims
from assay.results import folder
from report.browser import Browser

# What says a number in the tables and statements of claims, and where it leads.
FIGURES = """[...document.querySelectorAll('table.claims:not(.runs) tbody td.figure-cell:nth-child(3), ' +
    'table.claims:not(.runs) tbody td.figure-cell:nth-child(4) + td')].filter(node => /[0-9]/.test(node.textContent))
    .map(node => [node.textContent, [...node.querySelectorAll('a')].map(a => a.getAttribute('href'))])"""

# Whether the row that the address names comes into view: pages scroll smoothly.
IN_VIEW = """new Promise(done => {
    const row = document.getElementById(arguments[0].slice(1)), began = Date.now();
    const look = () => {
        const { top, bottom } = row.getBoundingClientRect();
        const seen = top >= 0 && bottom > top && bottom <= innerHeight;
        if (seen || Date.now() - began > 20000) done(seen); else setTimeout(look, 50);
    };
    look();
})"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, assayer: Path) -> Path:
    """A folder with reads, work of a database and the claims of two studies."""
    del assayer
    bench = Bench(tmp_path_factory.mktemp("claimed") / "results")
    bench.add(read(9000, depth=32), "reads")
    bench.work("database", "wiredtiger", "wtperf", 1000)
    bench.work("database", "wiredtiger", "wtperf", 1100, medium="memory")
    found = folder.read(bench.done())
    studies = [document(reproduce(name, None, found)) for name in ("scm", "dana")]
    write_claims(found.directory, documents(studies, "records"))
    return write(found.directory)


def test_every_figure_of_a_claim_leads_to_its_run_or_record(browser: Browser, page: Path) -> None:
    browser.open(page)
    found = browser.ask(FIGURES)
    assert len(found) > 10
    assert [text for text, links in found if not links and not text.endswith("dated prices")] == []
    for anchor in {link for _, links in found for link in links}:
        assert browser.ask("Boolean(document.getElementById(arguments[0].slice(1)))", anchor), anchor
    records = browser.ask("[...document.querySelectorAll('.findings a')].map(a => a.getAttribute('href'))")
    assert any(one.startswith("#work-wiredtiger") for one in records), records
    assert any(one.startswith("#run-scm-twin-") for one in records), records


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (390, False), (390, True)])
def test_a_link_opens_the_run_that_it_names(browser: Browser, page: Path, width: int, dark: bool) -> None:
    browser.complaints()
    browser.open(page, width=width, dark=dark)
    link = "document.querySelector('table.claims:not(.runs) a[href^=\"#run-\"]')"
    browser.ask(f"{link}.closest('details').open = true")
    anchor = browser.ask(f"{link}.getAttribute('href')")
    browser.ask(f"{link}.click()")
    row = "document.getElementById(arguments[0].slice(1))"
    assert browser.wait(IN_VIEW, anchor)
    assert browser.ask(f"{row}.closest('details').open", anchor)
    colours = f"[getComputedStyle({row}).backgroundColor, getComputedStyle({row}.nextElementSibling).backgroundColor]"
    one, other = browser.ask(colours, anchor)
    assert one != other, "the row that was named stands out"
    assert browser.ask("document.documentElement.scrollWidth") == width
    assert browser.complaints() == []
