"""`assay history`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.flags import JsonFlag


def history(
    directories: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Result folders, oldest first.")],
    metric: Annotated[str, typer.Option("--metric", metavar="NAME", help="The figure to follow.")] = "ops_rate",
    over: Annotated[
        str, typer.Option("--over", metavar="date|commit|firmware", help="What sets folders apart.")
    ] = "date",
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Where to write the page.")] = None,
    no_page: Annotated[bool, typer.Option("--no-page", help="Write no history.html.")] = False,
    json: JsonFlag = False,
) -> None:
    """Follow a figure over result folders and find where it changed."""
    from assay.cli.results import following

    raise typer.Exit(
        following.follow(directories, metric, over, None if no_page else out or Path("history.html"), json)
    )
