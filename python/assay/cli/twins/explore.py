"""`assay explore`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.executors import Keys, Scheduler, Workers
from assay.cli.flags import JsonFlag


def explore(
    points: Annotated[
        float, typer.Option("--points", metavar="N", min=1, help="How many of all that there are, such as 1e6.")
    ] = 1e6,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where they go; what is there is not asked again.")
    ] = Path("explored"),
    workers: Workers = 0,
    scheduler: Scheduler = "",
    certificates: Keys = None,
    on: Annotated[
        list[str] | None, typer.Option("--on", metavar="twin:NAME", help="These twins alone; may be repeated.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Ask the whole catalog: millions of points of twins, arrays, paths, sizes and mixes, as Parquet.

    The same command goes on where an earlier one was ended. Without --workers there are as many as cores.
    """
    from assay.cli import executors
    from assay.cli.twins.exploring import explored

    raise typer.Exit(
        explored(int(points), out, executors.ExecutorWish(workers, scheduler, certificates), on or [], json)
    )
