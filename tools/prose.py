"""Reads the documentation as prose: `python tools/prose.py [PAGE...]` prints what to write otherwise, and ends with 1.

proselint (https://github.com/amperser/proselint) does the reading, by its own checks of double words, redundancy and
cliches and by the style below; it needs no network. No sentence is longer than 45 words. Code, tables of code and
generated pages are left out, and so are past measurements, which stay as they were written.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from proselint.checks import __register__ as theirs
from proselint.registry import CheckRegistry
from proselint.registry.checks import Check, CheckResult, types
from proselint.registry.checks.engine import Fast, RegexOptions
from proselint.tools import LintFile

ROOT = Path(__file__).resolve().parent.parent
LEFT_OUT = ("reference", "measurements")
THEIRS = ("lexical_illusions", "redundancy", "cliches", "hedging", "malapropisms", "nonwords", "mondegreens")
# Patterns of RE2, with what to write in their place.
STYLE = {
    "riddle.who": (
        r"(?m)(?:^|[.;:] |, (?:but|and|or) )(?:[Ww]ho|[Ww]hoever) [a-z]+s\b",
        "name who does it: a thread, a transaction, a user",
    ),
    "riddle.told": (r"\b(?:is|are|was|were|be|been|and) told\b", "say who reports it, and where it is printed"),
    "riddle.goes-on": (r"\b(?:goes|go|going|went) on\b", "continues, resumes, runs"),
    "riddle.for-ever": (r"\bfor ever\b", "forever"),
    "diary.build": (r"\b(?:earlier|older|old|new|previous) builds?\b", "past builds belong to docs/measurements"),
    "diary.written": (r"\bwhere these lines were written\b", "name the machine"),
    "diary.today": (r"\b(?:at the time of writing|as of this writing)\b", "name the date"),
    "passive.said": (r"\band (?:that|this) is said\b", "say where it is printed"),
    "passive.seen-to": (r"\b(?:is|are) seen to\b", "say what does it"),
}

# Words in a sentence at most; a piece of code is one word.
LONGEST = 45
# A paragraph or an item of a list; the end of a sentence in it; a word.
PART = re.compile(r"(?:(?!\n[ ~]*\n|\n(?:-|\d+\.|\|) ).)+", re.DOTALL)
STOP = re.compile(r"[.!?:][)\]\"*_]*(?=\s)")
WORD = re.compile(r"\S*\w\S*|~+")


def checks() -> list[Check]:
    """Ours, and those of proselint that suit the text."""
    ours = [
        Check(
            types.ExistenceSimple(pattern),
            Fast(RegexOptions(case_insensitive=False)),
            f"assay.{name}",
            f"{{!r}}: {instead}",
        )
        for name, (pattern, instead) in STYLE.items()
    ]
    return ours + [check for check in theirs if check.path_segments[0] in THEIRS]


def prose(markdown: str) -> str:
    """The text alone, on the lines where it stands: code, addresses and rules of tables are blanks."""
    text = re.sub(r"^```.*?^```", _blank, markdown, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^(?: {4}|\t|#).*$", _blank, text, flags=re.MULTILINE)
    text = re.sub(r"`[^`\n]*`", lambda code: "~" * len(code[0]), text)
    text = re.sub(r"\]\([^)\s]*\)", _blank, text)
    # A sentence does not end with its line.
    return re.sub(r"(?<=\w|,)\n(?=\w)", " ", text)


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def complaints(name: str, markdown: str) -> list[str]:
    """What is wrong with a page, in the order of its lines."""
    _register()
    text = prose(markdown)
    if not text.strip():
        return []
    checked = LintFile(name, text).lint({"max_errors": 10_000, "checks": dict.fromkeys(("assay", *THEIRS), True)})
    found = [one for one in checked if not _columns(text, one.check_result)]
    said = [(one.check_result.span[0] - 1, one.check_result.message, one.check_result.check_path) for one in found]
    lines = sorted((markdown.count("\n", 0, max(0, at)) + 1, what, rule) for at, what, rule in [*said, *_long(text)])
    return [f"{name}:{line}: {what} [{rule}]" for line, what, rule in lines]


def _long(text: str) -> Iterator[tuple[int, str, str]]:
    """Sentences with more words than a reader keeps in mind: where each begins, and what to do with it."""
    for part in PART.finditer(text):
        begin = part.start()
        for end in [*(stop.end() for stop in STOP.finditer(text, *part.span())), part.end()]:
            words = len(WORD.findall(text, begin, end))
            if words > LONGEST and not part[0].startswith("|"):
                first = begin + len(text[begin:end]) - len(text[begin:end].lstrip())
                yield first, f"{words} words in one sentence, {LONGEST} at most: divide it", "assay.length.sentence"
            begin = end


def _columns(text: str, result: CheckResult) -> bool:
    """Whether a word that seems doubled is a number, a name or the head of the next line."""
    first, last = result.span
    doubled = result.check_path.startswith("lexical_illusions")
    return doubled and re.fullmatch(r"[a-z ]+", text[first - 1 : last - 1].strip()) is None


def _register() -> None:
    if not CheckRegistry().checks:
        CheckRegistry().register_many(tuple(checks()))


def pages() -> Iterator[Path]:
    """Every page that people write."""
    yield from (ROOT / name for name in ("README.md", "CONTRIBUTING.md"))
    for path in sorted((ROOT / "docs").rglob("*.md")):
        if path.relative_to(ROOT / "docs").parts[0] not in LEFT_OUT:
            yield path


def main(words: Sequence[str]) -> int:
    """Returns 1 where something is to be written otherwise."""
    found = []
    for path in [Path(word) for word in words] or list(pages()):
        name = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
        found += complaints(name, path.read_text(encoding="utf-8"))
    print("\n".join(found) or "the documentation reads well")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
