"""`assay cost ratio`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.cost.flags import AsOf, Band, Quotes
from assay.cli.flags import JsonFlag


def ratio(
    throughput: Annotated[float | None, typer.Option("--throughput", help="P, per second.")] = None,
    threads: Annotated[float | None, typer.Option("--threads", help="W, worker threads.")] = None,
    utilisation: Annotated[float | None, typer.Option("--utilisation", help="U, of the workers, 0 to 1.")] = None,
    inside: Annotated[Path | None, typer.Option("--in", metavar="DIR", help="Result folder of a record.")] = None,
    cell: Annotated[
        str | None, typer.Option("--cell", metavar="ID", help="A cell with its repeat, or a work record.")
    ] = None,
    classes: Annotated[list[str] | None, typer.Option("--class", help="Only this class; may be repeated.")] = None,
    metric: Annotated[str, typer.Option("--metric", metavar="ops|bandwidth", help="What P is in a record.")] = "ops",
    storage: Annotated[list[str] | None, typer.Option("--storage", metavar="ITEM*N", help="Storage parts.")] = None,
    dram: Annotated[list[str] | None, typer.Option("--dram", metavar="ITEM*N", help="Memory modules.")] = None,
    cpu: Annotated[str, typer.Option("--cpu", metavar="ITEM", help="The processor.")] = "xeon-6242r",
    cpu_threads: Annotated[float | None, typer.Option("--cpu-threads", help="T; the catalog's by default.")] = None,
    quotes: Quotes = None,
    band: Band = 2.0,
    as_of: AsOf = None,
    json: JsonFlag = False,
) -> None:
    """R = P / ($S + $D + W*U*$C/T): throughput per dollar of the hardware that it keeps busy.

    P, W and U are given, or come from a record: --in DIR --cell ID.
    """
    from assay.cli.cost.session import CostSession, machine_of, workload_of
    from assay.price.ratio import ratio as compute

    session = CostSession(quotes, as_of, band, json)
    load = workload_of(throughput, threads, utilisation, inside, cell, metric, classes)
    machine = machine_of(storage or [], dram or [], cpu, cpu_threads)
    raise typer.Exit(session.show(compute(session.ledger, machine, load, band)))
