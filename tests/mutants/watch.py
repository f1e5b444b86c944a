"""Which test runs which line, and how long each takes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from .mutate import Mutant
from .rooms import ROOT


@dataclass
class Ran:
    """A test that passed: seconds, and the lines that it ran of each file."""

    seconds: float
    lines: dict[str, set[int]] = field(default_factory=dict)


def traced(items: Iterable[pytest.Item], files: Iterable[str], run: Callable[[pytest.Item], bool]) -> dict[str, Ran]:
    """Runs each test alone and notes the lines that it runs; those that fail are left out."""
    wanted = set(files)
    found: dict[str, Ran] = {}
    for item in items:
        ran, begin = Ran(0.0), time.monotonic()
        with lines(wanted, ran.lines):
            passed = run(item)
        ran.seconds = time.monotonic() - begin
        if passed:
            found[item.nodeid] = ran
    return found


@contextmanager
def lines(files: Iterable[str], into: dict[str, set[int]]) -> Iterator[None]:
    """Notes what runs meanwhile of these files."""
    wanted = {str(ROOT / name): name for name in files}
    names: dict[CodeType, str | None] = {}

    def within(frame: FrameType, event: str, _: object) -> Any:
        if event == "line":
            into[names[frame.f_code] or ""].add(frame.f_lineno)
        return within

    def called(frame: FrameType, _event: str, _arg: object) -> Any:
        code = frame.f_code
        if code not in names:
            names[code] = wanted.get(code.co_filename)
        name = names[code]
        if name is None:
            return None
        into.setdefault(name, set()).add(frame.f_lineno)
        return within

    before = sys.gettrace()
    sys.settrace(called)
    try:
        yield
    finally:
        sys.settrace(before)


def tests_of(mutant: Mutant, ran: dict[str, Ran]) -> list[str]:
    """Tests that can notice a mutant, the quick ones first: those that run its line; where that line has no code of its
    own those that call its function; and where the line runs when the module is read all beside those that use its
    file: what a model of pydantic refuses runs no line of it."""
    lines = {name: one.lines.get(mutant.file, set()) for name, one in ran.items()}
    wanted = [{mutant.line}, {mutant.begins}] if mutant.begins else [set.union(set(), *lines.values())]
    chosen = next((found for at in wanted if (found := [name for name in lines if lines[name] & at])), [])
    if not mutant.begins:
        beside = {_module(name) for name in chosen}
        chosen = [name for name in ran if _module(name) in beside]
    return sorted(chosen, key=lambda name: ran[name].seconds)


def _module(test: str) -> str:
    return test.partition("::")[0]


def module_of(file: str) -> str:
    """The name under which a file of the product is imported."""
    words = Path(file).with_suffix("").parts[1:]
    return ".".join(words[:-1] if words[-1] == "__init__" else words)
