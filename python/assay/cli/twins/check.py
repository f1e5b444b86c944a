"""`assay twin check`: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.flags import JsonFlag


def check(
    twin: Annotated[str, typer.Argument(metavar="TWIN", help="Name in the catalog, or FILE.toml.")],
    points: Annotated[
        Path | None, typer.Option("--points", metavar="FILE.csv", help="Published latencies under load.")
    ] = None,
    drive: Annotated[str, typer.Option("--drive", metavar="NAME", help="Which drive of the table.")] = "",
    json: JsonFlag = False,
) -> None:
    """Check the file of a twin, or how far it is off the rates of a table that it was not fitted to.

    Without a table: whether it can be read, which parameters are assumed without a range, which of its own rates it
    does not reach, and whether more in flight ever gives less (exit code 6).

    For example: assay twin check mine.toml --points ssd_under_load.csv --drive PM9A3
    """
    from assay.cli.twins.checking import show_check
    from assay.cli.twins.reviewing import show_review

    raise typer.Exit(show_check(twin, points, drive, json) if points else show_review(twin, json))
