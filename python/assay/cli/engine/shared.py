"""What the commands of `assay engine` share."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from assay.cli.engine.flags import Flags

Rows = Annotated[int, typer.Option("--rows", min=1, help="Rows that are loaded.")]
Value = Annotated[str, typer.Option("--value", metavar="BYTES", help="Of each row.")]


def _run(workload: str, flags: Flags, **asks: Any) -> None:
    from assay.cli.engine.job import run

    raise typer.Exit(run(workload, asks, flags))
