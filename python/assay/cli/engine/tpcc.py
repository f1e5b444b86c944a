"""`assay engine tpcc`."""

from __future__ import annotations

from typing import Annotated

import typer

from assay.cli.engine.flags import Flags, with_flags
from assay.cli.engine.shared import _run


@with_flags
def tpcc(
    flags: Flags,
    warehouses: Annotated[int, typer.Option("--warehouses", min=1, help="Size of the data set.")] = 1,
    small: Annotated[bool, typer.Option("--small", help="A hundredth of each warehouse, for trials.")] = False,
) -> None:
    """Run TPC-C's five transactions, with the mix audited and the twelve conditions checked.

    For example: assay engine tpcc --on /mnt/a --warehouses 5 --pool 2GiB --threads 2
    """
    _run("tpcc", flags, warehouses=warehouses, small=small)
