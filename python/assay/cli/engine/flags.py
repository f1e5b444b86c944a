"""The flags that all workloads of `assay engine` share: declared once, and added to each command."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.driver import DriverFlags
from assay.cli.flags import Destroy, DryRun, JsonFlag, Out, Repeats, Serial
from assay.cli.sharing import sharing
from assay.study.work.engine import CommitDurability, EngineWay, PagePlacement, WritePlacement


@dataclass(frozen=True)
class Flags(DriverFlags):
    """Where and how the engine runs, as options of commands, and where what was seen goes."""

    on: Annotated[
        list[str] | None,
        typer.Option(
            "--on",
            metavar="DIR|DEVICE|twin:NAME",
            help="For the pages; A+B stripes them over several; may be repeated.",
        ),
    ] = None
    log: Annotated[
        str, typer.Option("--log", metavar="DIR|DEVICE|twin:NAME", help="For the log; that of the pages.")
    ] = ""
    pmem: Annotated[
        str, typer.Option("--pmem", metavar="DIR|twin:NAME", help="Persistent memory for the log's tail.")
    ] = ""
    pool: Annotated[str, typer.Option("--pool", metavar="BYTES", help="The buffer pool.")] = "1GiB"
    page: Annotated[str, typer.Option("--page", metavar="BYTES", help="A page: 4 to 64 KiB.")] = "4KiB"
    log_size: Annotated[
        str, typer.Option("--log-size", metavar="BYTES", help="The log's file, of several together; given when made.")
    ] = "1GiB"
    logs: Annotated[
        int | None,
        typer.Option(
            "--logs",
            metavar="N",
            min=1,
            max=16,
            help="Logs that threads share out among them; 1, or as many as are kept.",
        ),
    ] = None
    path: Annotated[EngineWay, typer.Option("--path", help="How pages and log are reached.")] = EngineWay.IO_URING
    write_rate: Annotated[
        str, typer.Option("--write-rate", metavar="RATE", help="Writes dirty pages in the background, such as 250MB/s.")
    ] = ""
    write_placement: Annotated[
        WritePlacement,
        typer.Option(
            "--write-placement", help="Where written pages go; flash: with those that are expected to die with them."
        ),
    ] = WritePlacement.ANY
    collection_unit: Annotated[
        str,
        typer.Option("--collection-unit", metavar="BYTES", help="What a drive erases together; the twin's, or 64MiB."),
    ] = ""
    serial: Serial = None
    yes_destroy: Destroy = False
    threads: Annotated[int, typer.Option("--threads", min=1, help="Threads.")] = 1
    tasks: Annotated[
        int, typer.Option("--tasks", min=1, help="Cooperative tasks of each thread; of TPC-C each is a terminal.")
    ] = 32
    duration: Annotated[str, typer.Option("--duration", metavar="TIME", help="Of the window.")] = "10s"
    warmup: Annotated[str, typer.Option("--warmup", metavar="TIME", help="Before the window.")] = "2s"
    durability: Annotated[CommitDurability, typer.Option("--durability", help="What makes a commit durable.")] = (
        CommitDurability.FDATASYNC
    )
    keep: Annotated[
        Path | None, typer.Option("--keep", metavar="DIR", help="Keeps the database there, or opens it.")
    ] = None
    seed: Annotated[int, typer.Option("--seed", help="Of everything that is left to chance.")] = 0
    tier: Annotated[
        str,
        typer.Option("--tier", metavar="DIR|twin:NAME:BYTES", help="Memory below the pool, such as /mnt/pmem:4GiB."),
    ] = ""
    placement: Annotated[
        PagePlacement | None, typer.Option("--placement", help="What becomes of a page below that is read; hot.")
    ] = None
    repeats: Repeats = 1
    out: Out = None
    dry_run: DryRun = False
    json: JsonFlag = False


with_flags = sharing(Flags)
