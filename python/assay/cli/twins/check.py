"""`assay twin check`: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.flags import Json


def check(
    twin: Annotated[str, typer.Argument(metavar="TWIN", help="Name in the catalog, or FILE.toml.")],
    points: Annotated[Path, typer.Option("--points", metavar="FILE.csv", help="Published latencies under load.")],
    drive: Annotated[str, typer.Option("--drive", metavar="NAME", help="Which drive of the table.")] = "",
    json: Json = False,
) -> None:
    """Print how far a twin is off the rates of a table that it was not fitted to, and how many lie in its bands.

    For example: assay twin check mine.toml --points ssd_under_load.csv --drive PM9A3
    """
    from assay.cli.twins.checking import show_check

    raise typer.Exit(show_check(twin, points, drive, json))
