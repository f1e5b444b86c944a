"""`assay export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.flags import JsonFlag


def export(
    directories: Annotated[
        list[Path] | None, typer.Argument(metavar="[DIR...]", help="Result folders; the newest by default.")
    ] = None,
    to: Annotated[str, typer.Option("--to", metavar="openmetrics|otava", help="Form of the file.")] = "openmetrics",
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="File; standard output without.")] = None,
    json: JsonFlag = False,
) -> None:
    """Write figures for other programs: OpenMetrics text, or Apache Otava's CSV.

    OpenMetrics takes one folder. Otava's CSV has one row for each folder; with --out its configuration lies beside it.
    """
    from assay.cli.results import exporting

    raise typer.Exit(exporting.export(directories or [], to, out, json))
