"""`assay list`."""

from __future__ import annotations

from typing import Annotated

import typer

from assay.cli.flags import JsonFlag, On


def list_(
    what: Annotated[str, typer.Argument(metavar="studies|paths|twins|hosts", help="What to list.")] = "studies",
    on: On = None,
    json: JsonFlag = False,
) -> None:
    """List the ready-made studies, the paths, or the twins and hosts of the catalog."""
    from assay.cli.about.listing import show

    raise typer.Exit(show(what, on or [], json))
