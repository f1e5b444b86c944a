"""`assay doctor`."""

from __future__ import annotations

import typer

from assay.cli.flags import JsonFlag, On


def doctor(on: On = None, json: JsonFlag = False) -> None:
    """Look at the machine before measuring.

    Says what it saw, why it matters, and the command that mends it.
    """
    from assay.cli.parts import part

    raise typer.Exit(part("machine").doctor(on or ["."], json))
