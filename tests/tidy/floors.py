"""The floors of the Python house: who imports whom, and circles in that."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

Graph = dict[str, set[str]]


def modules(root: Path, package: str) -> dict[str, Path]:
    """Every module of a package by its dotted name."""
    found = {}
    for path in sorted((root / package).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(source: str, name: str, known: Iterable[str], is_package: bool = False) -> set[str]:
    """Known modules that a module imports, at its head or inside a function."""
    known = set(known)
    return {one for one in _named(source, name, known, is_package) if one in known} - {name}


def _named(source: str, name: str, known: set[str], is_package: bool) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _base(node, name, is_package)
            for one in node.names:
                yield inner if (inner := f"{base}.{one.name}") in known else base


def _base(node: ast.ImportFrom, name: str, is_package: bool) -> str:
    if not node.level:
        return node.module or ""
    parts = name.split(".")
    parts = parts[: len(parts) - node.level + is_package]
    return ".".join([*parts, *([node.module] if node.module else [])])


def graph(root: Path, package: str) -> Graph:
    """Who imports whom, file by file."""
    known = modules(root, package)
    return {
        name: imports(path.read_text(encoding="utf-8"), name, known, path.name == "__init__.py")
        for name, path in known.items()
    }


def room(module: str) -> str:
    """The room of a module: the folder, or the file, right below the package."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else parts[0]


def rooms(files: Mapping[str, set[str]]) -> Graph:
    """Who imports whom, room by room."""
    found: Graph = {}
    for name, used in files.items():
        found.setdefault(room(name), set()).update({room(one) for one in used} - {room(name)})
    return found


def circles(uses: Mapping[str, set[str]]) -> list[list[str]]:
    """What cannot be laid in floors: each circle, sorted (what reaches itself and each other)."""
    reach = {name: _reached(name, uses) for name in uses}
    grouped = {
        tuple(sorted(other for other in reach[name] if name in reach.get(other, ())))
        for name in uses
        if name in reach[name]
    }
    return [list(one) for one in sorted(grouped)]


def _reached(name: str, uses: Mapping[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    waiting = list(uses[name])
    while waiting:
        one = waiting.pop()
        if one not in seen:
            seen.add(one)
            waiting += uses.get(one, ())
    return seen


def floors(uses: Mapping[str, set[str]]) -> list[set[str]]:
    """From the ground up: what uses nobody, what uses only those, and so on. Wants a graph without circles."""
    left, found = dict(uses), list[set[str]]()
    below: set[str] = set()
    while left:
        ready = {name for name, used in left.items() if used & set(uses) <= below}
        if not ready:
            raise ValueError(f"there are circles among {sorted(left)}")
        found.append(ready)
        below |= ready
        left = {name: used for name, used in left.items() if name not in ready}
    return found
