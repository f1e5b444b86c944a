"""`assay twin export`."""

from __future__ import annotations

from typing import Annotated

import typer


def export(
    twin: Annotated[str, typer.Argument(metavar="TWIN", help="Name in the catalog, or FILE.toml.")],
    to: Annotated[str, typer.Option("--to", metavar="FORMAT", help="iocost, scylla, nvmevirt, mqsim or fio.")],
) -> None:
    """Print a drive's twin as another program's configuration, with what that format cannot say.

    For example: assay twin export p4610 --to scylla
    """
    from assay.cli import output
    from assay.error import DONE
    from assay.twin.export import export as exported

    output.say(exported(twin, to).rstrip("\n"))
    raise typer.Exit(DONE)
