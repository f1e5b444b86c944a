"""`assay claims`: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.flags import JsonFlag


def claims(
    study: Annotated[str, typer.Argument(metavar="[STUDY]", help="dana, drop-in, jungle, lessons or scm; all.")] = "",
    inside: Annotated[
        Path | None, typer.Option("--in", metavar="DIR", help="Try them against the records of this result folder.")
    ] = None,
    here: Annotated[str, typer.Option("--here", metavar="DIR", help="Measure them now, in this folder.")] = "",
    seconds: Annotated[float, typer.Option("--seconds", min=0.1, help="Of each run of --here.")] = 1.0,
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Write claims.json and claims.html.")] = None,
    json: JsonFlag = False,
) -> None:
    """Try what studies published: on twins of their hardware, and on this machine.

    For each claim what was printed, what a twin gives with its band, what this machine gives, and for each finding
    whether it holds here, and what differs.
    """
    from assay.cli.twins.claiming import ClaimFlags, show

    raise typer.Exit(show(ClaimFlags(study, inside, here, seconds, out, json)))
