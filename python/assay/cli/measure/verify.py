"""`assay verify`."""

from __future__ import annotations

from typing import Annotated

import typer

from assay.cli.flags import JsonFlag, Seed


def verify(
    on: Annotated[str, typer.Option("--on", metavar="DIR", help="Folder to write in.")] = ".",
    path: Annotated[str, typer.Option("--path", help="Path and options, such as pread or io_uring+direct.")] = "pread",
    durability: Annotated[str, typer.Option("--durability", help="What makes writes durable.")] = "fdatasync",
    kills: Annotated[int, typer.Option("--kills", min=1, help="How often the writer is killed.")] = 3,
    size: Annotated[str, typer.Option("--size", help="Bytes of a write.")] = "4KiB",
    data: Annotated[str, typer.Option("--data", help="Bytes of the file.")] = "64MiB",
    seed: Seed = 1,
    json: JsonFlag = False,
) -> None:
    """Check durability by killing a writer.

    The writer is killed in mid-stream; what it was told is durable must be there.
    """
    from assay.cli.measure.durability import Check, check

    raise typer.Exit(check(Check(on, path, durability, kills, size, data, seed), json))
