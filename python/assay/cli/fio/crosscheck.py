"""`assay fio crosscheck`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.flags import JsonFlag


def crosscheck(
    cell: Annotated[str, typer.Argument(metavar="CELL", help="Id of a cell, or a job as JSON file.")],
    inside: Annotated[
        Path | None, typer.Option("--in", metavar="DIR", help="Result folder; the newest by default.")
    ] = None,
    repeats: Annotated[int, typer.Option("--repeats", min=2, help="How often each of the two runs it.")] = 12,
    json: JsonFlag = False,
) -> None:
    """Run a cell by fio and by Assay in turn.

    Both use the same files. The exit code is 0 where both are shown to agree, 6 where they are shown to differ, 5 where
    neither is.
    """
    from assay.cli.results.folders import crosscheck_fio

    raise typer.Exit(crosscheck_fio(cell, inside, repeats, json))
