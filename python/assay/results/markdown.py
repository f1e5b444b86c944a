"""Cases as a page in Markdown, for the summary of a CI run or a comment on a pull request."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.results.cases import Case, counted

_MARK = {"passed": "pass", "failed": "**fail**", "error": "**error**", "skipped": "skip"}
# What did not pass comes first, and a page of thousands of cells helps nobody.
_ORDER = {"failed": 0, "error": 1, "skipped": 2, "passed": 3}
_MOST = 200


def write(path: Path, title: str, lead: Sequence[str], cases: Sequence[Case]) -> None:
    """Writes the page: title, sentences, counts, and a row for each case. Raises `OSError`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(_lines(title, lead, cases)) + "\n", encoding="utf-8")


def _lines(title: str, lead: Sequence[str], cases: Sequence[Case]) -> list[str]:
    shown = sorted(cases, key=lambda case: _ORDER[case.state])[:_MOST]
    lines = [f"### {_plain(title)}", ""]
    for text in lead:
        lines += [_plain(text), ""]
    lines += [f"{counted(cases)}.", "", "| | of | what | said |", "| --- | --- | --- | --- |"]
    lines += [
        f"| {_MARK[case.state]} | {_plain(case.group)} | {_plain(case.name)} | {_plain(case.said)} |" for case in shown
    ]
    return lines + ([f"\n{len(cases) - len(shown)} more are left out."] if len(cases) > len(shown) else [])


def _plain(text: str) -> str:
    """Text that ends no cell of a table and begins no markup."""
    text = text.replace("\u00a0", " ").replace("\n", " ").replace("|", "\\|")
    return text.replace("<", "&lt;").replace("`", "'")
