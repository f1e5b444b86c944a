"""`assay clean`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.flags import JsonFlag


def clean(
    directories: Annotated[
        list[Path] | None, typer.Argument(metavar="DIR...", help="Folders that were measured.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Remove what killed runs left in folders."""
    from assay.cli.about.cleaning import clean_up

    raise typer.Exit(clean_up(directories or [Path()], json))
