"""Who computes for a command: the options of all commands that can be spread, and the executor that they mean."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from assay.executor.work import WorkExecutor

Workers = Annotated[
    int, typer.Option("--workers", metavar="N", min=0, max=1024, help="Computed by so many processes of this machine.")
]
Scheduler = Annotated[
    str, typer.Option("--scheduler", metavar="tls://HOST:PORT", help="Computed by the workers of a fleet.")
]
Keys = Annotated[
    Path | None, typer.Option("--certificates", metavar="DIR", help="With --scheduler; `assay fleet keys` makes them.")
]


@dataclass(frozen=True)
class ExecutorWish:
    """What was typed of it."""

    workers: int = 0
    scheduler: str = ""
    keys: Path | None = None


@contextmanager
def executor(wish: ExecutorWish) -> Iterator[WorkExecutor | None]:
    """Whoever was asked for, meanwhile; none where this process computes by itself."""
    from assay.error import BAD_JOB, AssayError

    if wish.workers and wish.scheduler:
        hint = "give one of both"
        raise AssayError("--workers are processes of this machine, --scheduler has its own", hint=hint, code=BAD_JOB)
    if wish.keys and not wish.scheduler:
        raise AssayError("--certificates belong to --scheduler", hint="name the scheduler as well", code=BAD_JOB)
    if wish.scheduler:
        from assay.fleet import call
        from assay.fleet.executor import executor_of
        from assay.fleet.run import new_run

        with call.connected(wish.scheduler, call.pair_of_run(wish.keys), new_run(), ()) as fleet:
            yield executor_of(fleet)
    elif wish.workers:
        from assay.executor import processes

        with processes.started(wish.workers) as found:
            yield found
    else:
        yield None
