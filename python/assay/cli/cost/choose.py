"""`assay choose`: which instance, or own machine, for a workload."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.executors import Keys, Scheduler, Workers
from assay.cli.flags import JsonFlag


def choose(
    workload: Annotated[Path, typer.Option("--workload", metavar="FILE", help="What must be served.")],
    objective: Annotated[
        str,
        typer.Option("--objective", metavar="cost|throughput|latency|throughput-per-dollar", help="What is wanted."),
    ] = "cost",
    cloud: Annotated[
        str, typer.Option("--cloud", metavar="A,B", help="Only these: aws, gcp, azure, ...; `none` for none.")
    ] = "",
    arch: Annotated[str | None, typer.Option("--arch", metavar="x86_64|arm64", help="Only this architecture.")] = None,
    hardware: Annotated[
        Path | None, typer.Option("--hardware", metavar="FILE", help="Machines of your own, with price and source.")
    ] = None,
    latencies: Annotated[
        Path | None, typer.Option("--latencies", metavar="FILE", help="Read latencies by device, as JSON; they win.")
    ] = None,
    quotes: Annotated[
        Path | None, typer.Option("--quotes", metavar="FILE", help="Your own prices and exchange rates; they win.")
    ] = None,
    band: Annotated[float, typer.Option("--band", help="Sensitivity: each price from 1/BAND to BAND times.")] = 2.0,
    workers: Workers = 0,
    scheduler: Scheduler = "",
    certificates: Keys = None,
    json: JsonFlag = False,
) -> None:
    """Choose instances for a workload, and say why the others lost.

    Looks at about 3,000 cloud instances and at your own machines: how many are needed, which limit binds, what it
    costs a month, which of them no other beats.
    """
    from assay.cli import executors
    from assay.cli.cost.choosing import ChoiceFlags, run

    asked = ChoiceFlags(workload, objective, cloud, arch, hardware, latencies, quotes, band, json)
    with executors.executor(executors.ExecutorWish(workers, scheduler, certificates)) as by:
        raise typer.Exit(run(asked, by))
