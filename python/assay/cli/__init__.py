"""The command line. Nothing is loaded before it is asked for: `assay --help` must answer at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.cli.main import main

__all__ = ["main"]


def __getattr__(name: str) -> Any:
    """`main` is the function; the file of that name would take its place when it is loaded."""
    if name != "main":
        raise AttributeError(f"module 'assay.cli' has no attribute '{name}'")
    from assay.cli.main import main as function

    globals()["main"] = function
    return function
