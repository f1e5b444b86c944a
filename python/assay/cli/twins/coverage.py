"""`assay twin coverage`: its options."""

from __future__ import annotations

import typer

from assay.cli.executors import Keys, Scheduler, Workers
from assay.cli.flags import JsonFlag


def coverage(
    workers: Workers = 0,
    scheduler: Scheduler = "",
    certificates: Keys = None,
    json: JsonFlag = False,
) -> None:
    """Count how often published figures that no twin was fitted to lie in its band, by kind of question.

    For example: assay twin coverage
    """
    from assay.cli import executors
    from assay.cli.twins.covering import show

    with executors.executor(executors.ExecutorWish(workers, scheduler, certificates)) as by:
        raise typer.Exit(show(json, by))
