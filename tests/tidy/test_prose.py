"""Pages are short, begin with what they answer, can be reached, and are in one plain voice."""

from __future__ import annotations

import re
from pathlib import Path

import prose
import pytest
from tidy.files import ROOT, matching, place, text

LONGEST = 150
# Made from the code, and past measurements in the tables that were printed.
LEFT_OUT = ("docs/reference/", "docs/measurements/")
PARTS_OF_A_VERDICT = ("What it means", "How it is detected", "What to do")
ANSWER = re.compile(r"\A# .+\n\nThis page (?:answers|keeps) ")


def pages() -> list[Path]:
    found = matching("docs/**/*.md")
    assert len(found) > 90
    return found


def written() -> list[Path]:
    """Pages that people write."""
    return [path for path in pages() if not place(path).startswith(LEFT_OUT)]


def test_no_page_is_longer_than_150_lines() -> None:
    long = {place(path): lines for path in written() if (lines := len(text(path).splitlines())) > LONGEST}
    assert not long, f"divide these, or move past measurements to docs/measurements: {long}"


def opening_complaint(name: str, page: str) -> str | None:
    """What is wrong with how a page begins; a verdict's page has parts instead."""
    if name.startswith("docs/verdicts/"):
        missing = [part for part in PARTS_OF_A_VERDICT if f"## {part}\n" not in page]
        return f"{name} lacks {missing}" if missing else None
    return None if ANSWER.match(page) else f"{name} does not begin with `This page answers ...`"


def test_every_page_begins_with_what_it_answers() -> None:
    read = [path for path in pages() if not place(path).startswith("docs/reference/")]
    found = [complaint for path in read if (complaint := opening_complaint(place(path), text(path)))]
    assert not found, "\n".join(found)


def test_a_page_without_an_opening_is_seen() -> None:
    assert opening_complaint("docs/a.md", "# A\n\nSome text.\n")
    assert opening_complaint("docs/verdicts/a.md", "# a\n\n## What it means\n")
    assert not opening_complaint("docs/a.md", "# A\n\nThis page answers how.\n")


def test_every_page_is_in_the_navigation_once() -> None:
    named = re.findall(r":\s+([\w/-]+\.md)\s*$", text(ROOT / "mkdocs.yml"), re.MULTILINE)
    there = sorted(str(path.relative_to(ROOT / "docs")) for path in pages())
    assert sorted(named) == there


def test_the_documentation_is_in_one_voice() -> None:
    found = [line for path in prose.pages() for line in prose.complaints(place(path), text(path))]
    assert not found, "\n".join(found)


SAMPLES = [
    ("Who waits writes the log.", "riddle.who"),
    ("The log is full; whoever comes next waits.", "riddle.who"),
    ("The user is told so.", "riddle.told"),
    ("The run goes on where it stopped.", "riddle.goes-on"),
    ("It waits for ever.", "riddle.for-ever"),
    ("An earlier build did 10 M/s.", "diary.build"),
    ("It failed where these lines were written.", "diary.written"),
    ("It is 3 at the time of writing.", "diary.today"),
    ("Neither is modelled, and that is said.", "passive.said"),
    ("What is seen to:", "passive.seen-to"),
    ("Close the the file.", "lexical_illusions"),
]


@pytest.mark.parametrize(("sentence", "rule"), SAMPLES)
def test_each_rule_of_the_style_catches_its_sample(sentence: str, rule: str) -> None:
    found = prose.complaints("page.md", f"# A\n\nPlain.\n\n{sentence}\n")
    assert [line for line in found if rule in line], found
    assert found[0].startswith("page.md:5:"), "the line where it stands"


def test_a_sentence_that_a_reader_loses_is_to_be_divided() -> None:
    words = "".join(f"word{n} " for n in range(prose.LONGEST))
    page = f"# A\n\nShort. {words.strip()}.\n\n{words}more\nand more. Short.\n"
    (found,) = prose.complaints("page.md", page)
    assert found.startswith(f"page.md:5: {prose.LONGEST + 3} words")
    assert "[assay.length.sentence]" in found


def test_items_rows_and_pieces_of_code_are_no_long_sentence() -> None:
    items = "".join(f"- item {n} of a list without full stops\n" for n in range(20))
    words = "".join(f"word{n} " for n in range(60))
    row = f"| {words}|\n"
    code = f"Run `{words}` first.\n"
    assert prose.complaints("page.md", f"# A\n\nThese:\n\n{items}\n{row}\n{code}") == []


def test_every_rule_has_a_sample() -> None:
    assert set(prose.STYLE) <= {rule for _, rule in SAMPLES}


@pytest.mark.parametrize(
    "markdown",
    [
        "The thread that waits writes the log.",
        "```\nwho waits goes on, and that is said\n```",
        "    $ assay run    goes on",
        "The key `goes on` is one of [three](goes-on.md).",
        "| a | 0 0 | INT INT |",
    ],
)
def test_code_and_plain_sentences_are_left_alone(markdown: str) -> None:
    assert prose.complaints("page.md", f"# A\n\n{markdown}\n") == []
