"""`assay bench scaling`."""

from __future__ import annotations

from typing import Annotated

import typer

from assay.cli.flags import JsonFlag


def scaling(
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="Turns of all amounts.")] = 3,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only", metavar="WORK", help="null, twin, index, report, query, compare or choose; may be repeated."
        ),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """How CPU time grows with the work, and how long the programs take to start."""
    from assay.cli.output import tell
    from assay.cli.parts import part

    bench = part("bench")
    raise typer.Exit(bench.tell("scaling", bench.scaling(repeats, only or [], tell), json))
