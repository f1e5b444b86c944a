"""`assay lab doctor`."""

from __future__ import annotations

import typer

from assay.cli.flags import JsonFlag


def doctor(json: JsonFlag = False) -> None:
    """What the lab finds here, what is missing, and the command that mends it."""
    from assay_lab.command import examine

    raise typer.Exit(examine(json))
