"""`assay schema`."""

from __future__ import annotations

from typing import Annotated

import typer

from assay.cli.flags import JsonFlag


def schema(
    document: Annotated[
        str, typer.Argument(metavar="job|event|passport|record|study|twin", help="Of which document.")
    ] = "study",
    json: JsonFlag = False,
) -> None:
    """Print a JSON Schema."""
    from assay.cli.about.listing import show_schema

    del json  # It is JSON either way.
    raise typer.Exit(show_schema(document))
