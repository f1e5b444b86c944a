"""`assay fio export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.flags import JsonFlag


def export(
    cell: Annotated[str, typer.Argument(metavar="CELL", help="Id of a cell, or a job as JSON file.")],
    inside: Annotated[
        Path | None, typer.Option("--in", metavar="DIR", help="Result folder; the newest by default.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Write fio's job file for a cell, so that anyone can cross-check."""
    from assay.cli.results.folders import export_fio

    raise typer.Exit(export_fio(cell, inside, json))
