"""`python -m mutants.alone FILE NUMBER TEST...` in tests/: runs tests with a mutant in a module that they read."""

from __future__ import annotations

import sys

import pytest

from .mutate import mutants
from .rooms import ROOT
from .swap import Instead


def main(words: list[str]) -> int:
    """0 where all tests pass."""
    file, number, *tests = words
    mutant = mutants((ROOT / file).read_text(encoding="utf-8"), file)[int(number)]
    Instead(mutant).install()
    options = ["-x", "-q", "-p", "no:cacheprovider", "--rootdir", str(ROOT), "-c", str(ROOT / "pyproject.toml")]
    return int(pytest.main([*options, *(str(ROOT / test) for test in tests)]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
