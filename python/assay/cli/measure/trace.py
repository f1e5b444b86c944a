"""`assay trace`: its options."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.flags import JsonFlag


class Means(StrEnum):
    """How operations are seen."""

    AUTO = "auto"
    BLOCK = "block"
    CALLS = "calls"
    SERVER = "server"
    COUNTERS = "counters"


def trace(
    pid: Annotated[
        int | None, typer.Option("--pid", metavar="PID", help="A process, with its threads and descendants.")
    ] = None,
    pg: Annotated[
        str, typer.Option("--pg", metavar="DATADIR|STRING", help="A PostgreSQL server by data folder or connection.")
    ] = "",
    path: Annotated[
        list[Path] | None,
        typer.Option("--path", metavar="DIR", help="Whatever the device under it does; with --pid: only that device."),
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="A log of fio's (write_iolog), or blktrace's events.")
    ] = None,
    duration: Annotated[str, typer.Option("--duration", metavar="TIME", help="Of the recording.")] = "10s",
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE.toml", help="The scenario; trace-NAME.toml without it.")
    ] = None,
    means: Annotated[
        Means, typer.Option("--means", help="block: requests, as root; calls: strace, slow; the best by itself.")
    ] = Means.AUTO,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
    json: JsonFlag = False,
) -> None:
    """Record what a running database asks of its devices, as a scenario that `assay run` replays anywhere.

    Nothing is changed in the database. For example: assay trace --pid 4711 --duration 30s --out mine.toml, and then
    assay run mine.toml --on twin:p4610
    """
    from assay.cli.measure.tracing import TraceOrder, run_trace

    order = TraceOrder(pid, pg, tuple(path or ()), file, duration, out, means.value, force, json)
    raise typer.Exit(run_trace(order))
