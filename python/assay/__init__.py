"""Assay: what a storage device, an I/O path and a dollar are worth to a database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay.packages import watch as _watch
from assay.version import __version__ as __version__

if TYPE_CHECKING:
    from assay.notebook import compare as compare
    from assay.notebook import load as load
    from assay.notebook import run as run

_watch()

_NOTEBOOK = ("compare", "load", "run")


def __getattr__(name: str) -> Any:
    """What notebooks call is loaded when it is first asked for: the command line starts without it."""
    if name not in _NOTEBOOK:
        raise AttributeError(f"module 'assay' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module("assay.notebook"), name)
