"""`assay engine ycsb`."""

from __future__ import annotations

from typing import Annotated

import typer

from assay.cli.engine.flags import Flags, with_flags
from assay.cli.engine.shared import Rows, Value, _run


@with_flags
def ycsb(
    flags: Flags,
    rows: Rows = 1_000_000,
    value: Value = "120",
    reads: Annotated[float, typer.Option("--reads", min=0, max=1, help="Share of reads; the others change.")] = 1.0,
    zipf: Annotated[float, typer.Option("--zipf", min=0, help="Skew; 0 for all rows alike.")] = 0.0,
) -> None:
    """Read and change single rows, each in a transaction of its own.

    For example: assay engine ycsb --on /mnt/a --rows 10000000 --pool 1GiB --reads 0.5 --threads 2
    """
    _run("ycsb", flags, rows=rows, value=value, reads=reads, zipf=zipf)
