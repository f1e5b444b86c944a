"""`assay bench twin`."""

from __future__ import annotations

import typer

from assay.cli.flags import JsonFlag


def twin(json: JsonFlag = False) -> None:
    """Simulated operations and analytic points per second of one core."""
    from assay.cli.parts import part

    raise typer.Exit(part("bench").run("twin", json))
