"""`assay bench null`."""

from __future__ import annotations

import typer

from assay.cli.flags import JsonFlag


def null(json: JsonFlag = False) -> None:
    """The generator's own ceiling beside fio's null engine."""
    from assay.cli.parts import part

    raise typer.Exit(part("bench").run("null", json))
