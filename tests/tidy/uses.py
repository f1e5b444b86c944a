"""Who uses whom among the files of a crate, as its `use` declarations say."""

import re
from collections.abc import Iterator
from pathlib import Path

from tidy import rust

Module = tuple[str, ...]

_USE = re.compile(r"^\s*(?:pub(?:\([a-z ]+\))?\s+)?use\s+([^;]+);", re.MULTILINE)


def modules(source: Path) -> dict[Module, Path]:
    """Every file of a crate by its module, without what is compiled for tests alone."""
    found = {}
    for path in sorted(source.rglob("*.rs")):
        parts = path.relative_to(source).with_suffix("").parts
        name = parts[:-1] if parts[-1] in {"mod", "lib", "main"} else parts
        if "tests" not in name:
            found[name] = path
    return found


def graph(source: Path) -> dict[str, set[str]]:
    """Who uses whom, file by file. A module's use of its own children is left out: it is their door."""
    known = modules(source)
    return {_name(module): _used(module, path.read_text(encoding="utf-8"), known) for module, path in known.items()}


def _name(module: Module) -> str:
    return "::".join(module) or "crate"


def _used(module: Module, text: str, known: dict[Module, Path]) -> set[str]:
    tests, code = rust.test_lines(text), rust.code_only(text)
    lines = (line if number not in tests else "" for number, line in enumerate(code.split("\n"), 1))
    found = set()
    for declared in _USE.finditer("\n".join(lines)):
        for path in paths(declared[1]):
            other = _resolved(module, path, known)
            if other is not None and other != module and other[: len(module)] != module:
                found.add(_name(other))
    return found


def paths(tree: str) -> Iterator[list[str]]:
    """The paths of a `use` tree."""
    tree = " ".join(tree.split())
    opening = tree.find("{")
    if opening < 0:
        yield tree.partition(" as ")[0].strip().split("::")
        return
    for part in _parts(tree[opening + 1 : tree.rindex("}")]):
        yield from paths(tree[:opening] + part)


def _parts(text: str) -> Iterator[str]:
    depth, part = 0, ""
    for letter in text:
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            yield part.strip()
            part = ""
        else:
            part += letter
    if part.strip():
        yield part.strip()


def _resolved(module: Module, path: list[str], known: dict[Module, Path]) -> Module | None:
    """The deepest file on a path; none where it begins in another crate."""
    at: Module
    if path[0] == "crate":
        at, path = (), path[1:]
    elif path[0] in {"super", "self"}:
        at = module
        while path and path[0] in {"super", "self"}:
            at, path = (at[:-1] if path[0] == "super" else at), path[1:]
    elif (*module, path[0]) in known:
        at = module
    else:
        return None
    for word in path:
        if (*at, word) not in known:
            break
        at = (*at, word)
    return at if at in known else None
