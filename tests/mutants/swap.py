"""A mutant takes the place of what was read: in this process, or before the module is read in a new one."""

from __future__ import annotations

import functools
import gc
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType

from .mutate import Mutant, mutated
from .rooms import ROOT
from .watch import module_of


class SwapError(Exception):
    """The function that was to be changed is not there."""


def swap(mutant: Mutant) -> None:
    """Gives the functions of this process that hold the mutant's line its code, and forgets what they had computed."""
    path = str(ROOT / mutant.file)
    new = code_of(mutant, path)
    everything = gc.get_objects()
    held = [one for one in everything if isinstance(one, FunctionType) and _is(one.__code__, new, path)]
    if not held:
        raise SwapError(mutant.key)
    for function in held:
        function.__code__ = new
    for one in everything:
        if isinstance(one, functools._lru_cache_wrapper):
            one.cache_clear()


def code_of(mutant: Mutant, path: str) -> CodeType:
    """The changed code of the outermost function that holds the mutant's line."""
    whole = mutated((ROOT / mutant.file).read_text(encoding="utf-8"), mutant.number, path)
    return next(code for code in _codes(whole) if code.co_firstlineno == mutant.begins and code.co_name != "<module>")


def _codes(code: CodeType) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from _codes(each)


def _is(code: CodeType, new: CodeType, path: str) -> bool:
    alike = (code.co_name, code.co_firstlineno, code.co_filename) == (new.co_name, new.co_firstlineno, path)
    return alike and code.co_freevars == new.co_freevars


class Instead(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Has one module read with the mutant in it."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant
        self.name = module_of(mutant.file)

    def find_spec(self, fullname: str, *_: object) -> importlib.machinery.ModuleSpec | None:
        """Only of that module."""
        if fullname != self.name:
            return None
        return importlib.util.spec_from_file_location(fullname, ROOT / self.mutant.file, loader=self)

    def exec_module(self, module: ModuleType) -> None:
        """Runs the changed code."""
        path = ROOT / self.mutant.file
        exec(mutated(path.read_text(encoding="utf-8"), self.mutant.number, str(path)), module.__dict__)  # noqa: S102

    def install(self) -> None:
        """Comes before all other finders."""
        sys.meta_path.insert(0, self)
