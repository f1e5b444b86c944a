"""Parts of Assay that a command loads when it runs."""

from __future__ import annotations

import importlib
from typing import Any

from assay.error import FAILED, AssayError


def part(name: str) -> Any:
    """The package `assay.<name>`."""
    try:
        return importlib.import_module(f"assay.{name}")
    except ModuleNotFoundError as error:
        hint = "set the installation up again: ./assay in a checkout, pip install otherwise"
        raise AssayError(f"this installation lacks {error.name}", hint=hint, code=FAILED) from error
