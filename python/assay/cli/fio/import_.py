"""`assay fio import`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.flags import JsonFlag


def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A job file of fio's.")],
    out: Annotated[Path | None, typer.Option("--out", metavar="STUDY.toml", help="Where to write the study.")] = None,
    section: Annotated[list[str] | None, typer.Option("--section", help="Only this job; may be repeated.")] = None,
    leave_out: Annotated[bool, typer.Option("--leave-out", help="Leave out what cannot be carried over.")] = False,
    json: JsonFlag = False,
) -> None:
    """Make a study of a job file of fio's."""
    from assay.cli.results.folders import import_fio

    raise typer.Exit(import_fio(file, out, section or [], leave_out, json))
