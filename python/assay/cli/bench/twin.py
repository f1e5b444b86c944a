"""`assay bench twin`."""

from __future__ import annotations

import typer

from assay.cli.flags import Json


def twin(json: Json = False) -> None:
    """Simulated operations and analytic points per second of one core."""
    from assay.cli.parts import part

    raise typer.Exit(part("bench").run("twin", json))
