"""`assay predict`: its options."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.flags import JsonFlag


class AskedOperation(StrEnum):
    """What an operation does."""

    READ = "read"
    WRITE = "write"


class Layout(StrEnum):
    """What the file that is written to is like."""

    WRITTEN = "written"
    GROW = "grow"
    PREALLOCATED = "preallocated"


class OffsetOrder(StrEnum):
    """Order of offsets."""

    SEQUENTIAL = "sequential"
    RANDOM = "random"


Points = Annotated[
    Path | None,
    typer.Option("--points", metavar="FILE.csv", help="Many points: a column for each option that differs; CSV out."),
]
PathWord = Annotated[str, typer.Option("--path", metavar="pmem|pread|libaio|io_uring|spdk", help="How bytes travel.")]
Mix = Annotated[float | None, typer.Option("--mix", metavar="READ%", min=0, max=100, help="Share of reads, percent.")]
Duration = Annotated[str, typer.Option("--duration", metavar="TIME", help="Of the load; the steady state without it.")]
LayoutWord = Annotated[
    Layout, typer.Option("--layout", help="Of the file: written before, growing, or allocated and never written.")
]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Host or load: cores=1, clock=1.2GHz, or any option's word."),
]


def predict(
    on: Annotated[str, typer.Option("--on", metavar="twin:NAME[*N]", help="A twin; `assay list twins`.")] = "",
    points: Points = None,
    op: Annotated[AskedOperation, typer.Option("--op", help="Read or write.")] = AskedOperation.READ,
    pattern: Annotated[OffsetOrder, typer.Option("--pattern", help="Order of offsets.")] = OffsetOrder.RANDOM,
    size: Annotated[str, typer.Option("--size", metavar="BYTES", help="Bytes of an operation, such as 4KiB.")] = "4KiB",
    threads: Annotated[int, typer.Option("--threads", min=1, help="Threads.")] = 1,
    depth: Annotated[int, typer.Option("--depth", min=1, help="Operations in flight per thread.")] = 1,
    batch: Annotated[int, typer.Option("--batch", min=1, help="Operations per submission.")] = 1,
    path: PathWord = "",
    persist: Annotated[str, typer.Option("--persist", metavar="nt|clwb|clflushopt|none", help="Of stores.")] = "auto",
    mix: Mix = None,
    durability: Annotated[str, typer.Option("--durability", help="What makes writes durable.")] = "none",
    rate: Annotated[str, typer.Option("--rate", metavar="RATE", help="Of the load, such as 250MB/s.")] = "",
    working_set: Annotated[str, typer.Option("--working-set", metavar="BYTES", help="Bytes worked on.")] = "",
    file_system: Annotated[str, typer.Option("--file-system", help="As the host knows it, such as ext4.")] = "",
    duration: Duration = "",
    fenced: Annotated[bool, typer.Option("--fenced", help="Each load ends before the next begins.")] = False,
    layout: LayoutWord = Layout.WRITTEN,
    host: Annotated[str, typer.Option("--host", metavar="NAME", help="A host; `assay list hosts`.")] = "",
    cores: Annotated[int | None, typer.Option("--cores", min=1, help="Cores of the host.")] = None,
    clock: Annotated[float | None, typer.Option("--clock", metavar="GHZ", min=0.1, help="Its clock.")] = None,
    changes: Changes = None,
    json: JsonFlag = False,
) -> None:
    """Ask a twin for one point: bandwidth, latency, CPU, and what sets the pace.

    For example: assay predict --on 'twin:p4610*4' --op read --size 16KiB --depth 64
    """
    from assay.cli.twins.show import show_point, show_points
    from assay.error import BAD_JOB, AssayError
    from assay.twin.point_set import applied
    from assay.twin.predict import Point
    from assay.units.parse import parse_bytes, parse_rate, parse_seconds

    bytes_each = parse_bytes(size)
    point = Point(
        on=on,
        operation=op.value,
        sequential=pattern is OffsetOrder.SEQUENTIAL,
        size_bytes=bytes_each,
        threads=threads,
        depth=depth,
        batch=batch,
        path=path,
        persist=persist,
        read_percent=mix,
        durability=durability,
        rate_per_s=parse_rate(rate).operations(bytes_each) if rate else None,
        working_set_bytes=parse_bytes(working_set) if working_set else 0,
        file_system=file_system,
        duration_s=parse_seconds(duration) if duration else 0.0,
        fenced=fenced,
        layout=layout.value,
        host=host,
        cores=cores,
        clock_hz=clock * 1e9 if clock is not None else None,
    )
    point = applied(point, changes or [])
    if points is not None:
        raise typer.Exit(show_points(point, points))
    if not on:
        raise AssayError("assay predict asks a twin", hint="name one with --on twin:NAME", code=BAD_JOB)
    raise typer.Exit(show_point(point, json))
