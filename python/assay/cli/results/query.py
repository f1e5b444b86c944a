"""`assay query`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.flags import JsonFlag


def query(
    sql: Annotated[str, typer.Argument(metavar="SQL", help="A query over classes, intervals, verdicts, runs, cells.")],
    inside: Annotated[
        list[Path] | None, typer.Option("--in", metavar="DIR", help="Result folder; may be repeated.")
    ] = None,
    json: JsonFlag = False,
    csv: Annotated[bool, typer.Option("--csv", help="Comma-separated values on standard output.")] = False,
) -> None:
    """Ask the results in SQL (DuckDB)."""
    from assay.cli.results.folders import ask

    raise typer.Exit(ask(sql, inside or [], json, csv))
