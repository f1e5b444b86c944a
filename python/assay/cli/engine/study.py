"""`assay engine study`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.flags import Json


def study(
    name: Annotated[str, typer.Argument(metavar="NAME|FILE", help="dana-table, or a file of the same kind.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Result folder; a started one is continued.")],
    on: Annotated[Path, typer.Option("--on", metavar="DIR", help="Folder for the pages.")] = Path(),
    log: Annotated[Path | None, typer.Option("--log", metavar="DIR", help="Folder for the log.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Another value of a parameter.")
    ] = None,
    json: Json = False,
) -> None:
    """Run a declared set of engine runs, and print them side by side; go on where it was stopped.

    For example: assay engine study dana-table --on /mnt/a --out results --set warehouses=10
    """
    from assay.cli.engine.matrix import run_study

    raise typer.Exit(run_study(name, on, log, set_ or [], out, json))
