"""Names of types, and how many things each stands for."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

from tidy import rust
from tidy.files import matching, place, text

_RUST = re.compile(r"^pub(?:\([a-z ]+\))?\s+(?:struct|enum|trait|type|union)\s+([A-Z]\w*)", re.MULTILINE)
#: Types of the record as Python has them: the same things, written by a tool.
GENERATED = "python/assay/record/"


def in_rust(source: str) -> Iterator[str]:
    """Types of a file of Rust that other files can see, without those of its tests."""
    code, tests = rust.code_only(source), rust.test_lines(source)
    for found in _RUST.finditer(code):
        if code.count("\n", 0, found.start()) + 1 not in tests:
            yield found[1]


def in_python(source: str) -> Iterator[str]:
    """Classes at the top of a module."""
    yield from (node.name for node in ast.parse(source).body if isinstance(node, ast.ClassDef))


def homes() -> dict[str, list[str]]:
    """Files of the product that make a type, by its name."""
    found = defaultdict(list)
    for path in matching("crates/*/src/**/*.rs"):
        if "tests" not in path.parts and path.name != "tests.rs":
            for name in in_rust(text(path)):
                # `Result` is the standard library's, with a crate's own error: one thing everywhere.
                if name != "Result":
                    found[name].append(place(path))
    for path in matching("python/assay/**/*.py"):
        if not place(path).startswith(GENERATED):
            for name in in_python(text(path)):
                found[name].append(place(path))
    return found
