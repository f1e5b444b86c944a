"""Runs tests with a mutant in a module that they read, in a process that was forked and reads all of it anew.

What others wrote stays read: most of the seconds of a new process go there.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import pytest

from .mutate import Mutant
from .rooms import ROOT
from .swap import Instead

_MINE = f"{__package__}."
_READ = tuple(f"{ROOT / name}/" for name in ("python", "tests", "lab", "tools", "setup"))


def run(mutant: Mutant, tests: Sequence[str]) -> int:
    """0 where all tests pass, which are named as the session names them."""
    forget()
    Instead(mutant).install()
    options = ["-x", "-q", "-p", "no:cacheprovider", "--rootdir", str(ROOT), "-c", str(ROOT / "pyproject.toml")]
    return int(pytest.main([*options, *(str(ROOT / test) for test in tests)]))


def forget() -> None:
    """The modules of this checkout are as if nobody had read them, but for those that make mutants."""
    for name, module in list(sys.modules.items()):
        path = str(getattr(module, "__file__", None) or "")
        if path.startswith(_READ) and not f"{name}.".startswith(_MINE):
            del sys.modules[name]
