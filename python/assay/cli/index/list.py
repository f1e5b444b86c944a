"""`assay index list`."""

from __future__ import annotations

import typer

from assay.cli.flags import Json


def list_(json: Json = False) -> None:
    """List the indexes, and whether this program has them."""
    from assay.cli.index.one import show_list

    raise typer.Exit(show_list(json))
