"""One room removes: no other takes trees away, or follows a name that somebody else might have put there."""

import re

import pytest
from tidy.files import matching, place, text
from tidy.rust import code_only, test_lines

# What takes a tree away, or makes a folder that somebody must remove.
_PYTHON = re.compile(r"\b(?:shutil\.)?(?:rmtree|move)\(|\bos\.removedirs\(|\bmkdtemp\(|(?<!Temporary)\brmdir\(")
_RUST = re.compile(r"\bremove_dir(?:_all)?\b")
# Why each of these may: a file of ours below a folder that this user alone may write to.
ALLOWED = {
    "python/assay/rivals/wiredtiger.py": "the half of a build, in this user's cache",
    "python/assay/trace/tracefs.py": "rmdir of an instance of the kernel's tracing, and of an empty mount point",
}


def removers_in(path: str, source: str) -> list[int]:
    """Lines that remove."""
    if path.endswith(".rs"):
        code, skipped = code_only(source), test_lines(source)
        return [n for n, line in enumerate(code.splitlines(), 1) if n not in skipped and _RUST.search(line)]
    lines = [line.split("#")[0] for line in source.splitlines()]
    return [number for number, line in enumerate(lines, 1) if _PYTHON.search(line)]


def test_no_other_room_removes_trees() -> None:
    found, used = [], set()
    for path in matching("python/**/*.py", "crates/*/src/**/*.rs"):
        name = place(path)
        if name.startswith("crates/own/") or name.endswith("/tests.rs"):
            continue
        lines = removers_in(name, text(path))
        if lines and name in ALLOWED:
            used.add(name)
        else:
            found += [f"{name}:{number}: folders are made and removed by crates/own (assay.own)" for number in lines]
    assert not found, "\n".join(found)
    assert used == set(ALLOWED), f"these need no exception any more: {sorted(set(ALLOWED) - used)}"


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("a.py", "import shutil\nshutil.rmtree(x)\n"),
        ("a.py", "folder = Path(tempfile.mkdtemp())\n"),
        ("a.rs", "fn f() { fs::remove_dir_all(x); }\n"),
    ],
)
def test_what_removes_is_seen(path: str, source: str) -> None:
    assert removers_in(path, source)


def test_private_temporary_folders_are_no_matter() -> None:
    """`TemporaryDirectory` makes them 0700 with a random name below a sticky folder, and removes by descriptor."""
    assert not removers_in("a.py", "with tempfile.TemporaryDirectory() as folder:\n    pass\n")
