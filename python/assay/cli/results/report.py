"""`assay report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.flags import JsonFlag


def report(
    directory: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="Result folder; the newest by default.")
    ] = None,
    export: Annotated[
        bool, typer.Option("--export", help="Also write each figure to DIR/figures as PNG, SVG, CSV and Parquet.")
    ] = False,
    pdf: Annotated[bool, typer.Option("--pdf", help="Also write report.pdf, a summary of one page.")] = False,
    json: JsonFlag = False,
) -> None:
    """Write report.html for a result folder.

    The answer first, then what to change, where the gain is lost, what it costs, and every record.
    """
    from assay.cli.results.folders import write_report

    raise typer.Exit(write_report(directory, export, pdf, json))
