"""Public names that nobody uses are deleted: a name that stands once in the whole house is only declared."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from .files import ROOT, ours, text

# Called by a library under this name.
CALLED_BY_OTHERS = {"format_commands"}
READ = {".rs", ".py", ".toml", ".sh", ".c", ".h", ".js", ".j2", ".zig", ""}
IN_RUST = re.compile(
    r"^\s*pub (?:const |unsafe |async |extern \"C\" )*(?:fn|struct|enum|trait|const|static|type) ([A-Za-z_]\w*)",
    re.MULTILINE,
)
IN_PYTHON = re.compile(
    r"^(?:    )?(?:async )?(?:def|class) ([A-Za-z]\w*)|^([A-Z][A-Z_0-9]+)(?::[^=\n]+)? = ", re.MULTILINE
)


def declared(path: Path, source: str) -> Iterator[str]:
    """Public names that a file of the product declares."""
    top = path.parts[0]
    if path.suffix == ".rs" and top == "crates" and not {"tests", "examples"} & set(path.parts):
        yield from IN_RUST.findall(source)
    if path.suffix == ".py" and top == "python":
        yield from (function or constant for function, constant in IN_PYTHON.findall(source))


def unused(sources: dict[Path, str]) -> list[str]:
    """Names that stand nowhere but where they are declared."""
    times = Counter(word for source in sources.values() for word in re.findall(r"[A-Za-z_]\w*", source))
    return [
        f"{path}: {name}"
        for path, source in sources.items()
        for name in declared(path, source)
        if times[name] == 1 and name not in CALLED_BY_OTHERS
    ]


def test_every_public_name_is_used_somewhere() -> None:
    found = unused({path.relative_to(ROOT): text(path) for path in ours() if path.suffix in READ})
    assert not found, "nobody uses these: delete them, or use them\n" + "\n".join(found)


def test_a_name_that_is_only_declared_is_found() -> None:
    sources = {
        Path("crates/a/src/lib.rs"): "pub fn lonely() {}\npub const fn wanted() {}\nfn own() {}\n",
        Path("crates/a/tests/one.rs"): "wanted();",
        Path("python/a.py"): "def forgotten() -> None: ...\nLIMIT: int = 3\n",
    }
    assert unused(sources) == ["crates/a/src/lib.rs: lonely", "python/a.py: forgotten", "python/a.py: LIMIT"]
