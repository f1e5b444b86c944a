"""`assay reproduce`: its options."""

from __future__ import annotations

from typing import Annotated

import typer

from assay.cli.executors import Keys, Scheduler, Workers
from assay.cli.flags import JsonFlag


def reproduce(
    study: Annotated[str, typer.Argument(metavar="dana|drop-in|jungle|lessons|scm", help="A published study.")],
    here: Annotated[str, typer.Option("--here", metavar="DIR", help="Also measure in this folder.")] = "",
    seconds: Annotated[float, typer.Option("--seconds", min=0.1, help="Of each run of --here.")] = 1.0,
    workers: Workers = 0,
    scheduler: Scheduler = "",
    certificates: Keys = None,
    json: JsonFlag = False,
) -> None:
    """Try the claims of a published study on twins of its hardware.

    Shows what was published, what the twins give with their band, and, with --here, what this machine measures.
    """
    from assay.cli import executors
    from assay.cli.twins.show import show_reproduction

    with executors.executor(executors.ExecutorWish(workers, scheduler, certificates)) as by:
        raise typer.Exit(show_reproduction(study, here, seconds, json, by))
