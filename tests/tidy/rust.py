"""As much of Rust's grammar as counting lines needs: strings, comments, braces."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_SKIP = re.compile(
    r"""
    //[^\n]*                                        # line comment
  | (?P<block>/\*)                                  # block comment, may nest
  | \bb?r(?P<hashes>\#*)"                           # raw string
  | [bc]?"(?:\\.|[^"\\])*"                       # string
  | \bb?'(?:\\(?:u\{[^}]*\}|x..|.)|[^'\\])'         # byte
  | '(?:\\(?:u\{[^}]*\}|x..|.)|[^'\\])'             # character; a lifetime has no closing quote
    """,
    re.VERBOSE | re.DOTALL,
)
_FUNCTION = re.compile(r"\bfn\s+([A-Za-z_]\w*)")
_TEST_PART = re.compile(r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub\s+)?(?:mod|fn)\s+\w+")


@dataclass(frozen=True)
class Span:
    """A named piece of a file, by lines that count from 1."""

    name: str
    first: int
    last: int

    @property
    def lines(self) -> int:
        return self.last - self.first + 1


def code_only(source: str) -> str:
    """The source with strings and comments blanked; offsets and lines stay."""
    pieces: list[str] = []
    at = 0
    while found := _SKIP.search(source, at):
        end = _end_of_skipped(source, found)
        pieces += [source[at : found.start()], _blank(source[found.start() : end])]
        at = end
    pieces.append(source[at:])
    return "".join(pieces)


def functions(source: str) -> Iterator[Span]:
    """Functions with a body, nested ones too."""
    code = code_only(source)
    for found in _FUNCTION.finditer(code):
        opening = _body(code, found.end())
        if opening is not None:
            first = code.count("\n", 0, found.start()) + 1
            last = code.count("\n", 0, _closing(code, opening)) + 1
            yield Span(found[1], first, last)


def test_lines(source: str) -> set[int]:
    """Lines of what is compiled for tests alone."""
    code = code_only(source)
    lines: set[int] = set()
    for found in _TEST_PART.finditer(code):
        opening = _body(code, found.end())
        if opening is not None:
            first = code.count("\n", 0, found.start()) + 1
            lines |= set(range(first, code.count("\n", 0, _closing(code, opening)) + 2))
    return lines


test_lines.__test__ = False  # type: ignore[attr-defined]  # a helper, in spite of its name


def variants(source: str, enum: str) -> list[str]:
    """Names of an enum's variants."""
    code = code_only(source)
    found = re.search(rf"\benum\s+{enum}\s*\{{", code)
    if found is None:
        return []
    body = code[found.end() : _closing(code, found.end() - 1)]
    return re.findall(r"^\s*([A-Z]\w*)\s*[,({]?", body, re.MULTILINE)


def kebab(name: str) -> str:
    """PageCacheServed -> page-cache-served."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()


def _end_of_skipped(source: str, found: re.Match[str]) -> int:
    if found["block"]:
        return _end_of_block(source, found.end())
    if found["hashes"] is not None:
        end = source.find('"' + found["hashes"], found.end())
        return len(source) if end < 0 else end + 1 + len(found["hashes"])
    return found.end()


def _end_of_block(source: str, at: int) -> int:
    depth = 1
    for mark in re.compile(r"/\*|\*/").finditer(source, at):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return mark.end()
    return len(source)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _body(code: str, at: int) -> int | None:
    """Where the body opens after a signature; None where there is only a declaration."""
    depth = 0
    for mark in re.compile(r"[(\[{)\];]").finditer(code, at):
        if mark[0] in "([":
            depth += 1
        elif mark[0] in ")]":
            depth -= 1
        elif depth == 0:
            return mark.start() if mark[0] == "{" else None
    return None


def _closing(code: str, opening: int) -> int:
    depth = 0
    for mark in re.compile(r"[{}]").finditer(code, opening):
        depth += 1 if mark[0] == "{" else -1
        if depth == 0:
            return mark.start()
    return len(code)
