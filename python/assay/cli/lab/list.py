"""`assay lab list`."""

from __future__ import annotations

import typer

from assay.cli.flags import JsonFlag


def list_(json: JsonFlag = False) -> None:
    """List the suites with their checks."""
    from assay_lab.command import listing

    raise typer.Exit(listing(json))
