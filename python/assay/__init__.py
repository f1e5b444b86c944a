"""Assay: what a storage device, an I/O path and a dollar are worth to a database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.version import __version__ as __version__

if TYPE_CHECKING:
    from pathlib import Path

    from assay.notebook import Frames


def load(directory: str | Path) -> Frames:
    """The results in a folder as data frames and charts, for notebooks (`assay.notebook`)."""
    from assay.notebook import load as read

    return read(directory)
