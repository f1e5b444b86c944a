"""`assay index cost`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.flags import JsonFlag


def cost(
    inside: Annotated[
        list[Path],
        typer.Option("--in", metavar="DIR", help="Result folder of `index run` or `index study`; may be repeated."),
    ],
    dram: Annotated[
        list[int] | None, typer.Option("--dram", metavar="N", help="Modules of 32 GB of DRAM; may be repeated.")
    ] = None,
    quotes: Annotated[
        Path | None, typer.Option("--quotes", metavar="FILE", help="Your own prices and exchange rates; they win.")
    ] = None,
    data: Annotated[
        str, typer.Option("--data", metavar="BYTES", help="Keys and values together, such as 100GB; DRAM is the pool.")
    ] = "",
    band: Annotated[float, typer.Option("--band", help="Sensitivity: each price from 1/BAND to BAND times.")] = 2.0,
    as_of: Annotated[
        str | None, typer.Option("--as-of", metavar="DATE", help="Prices of that day at the latest.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Performance per dollar of runs, on this machine and on the hardware of a published study through twins.

    With --data, DRAM is the pool of indexes on a drive, and runs with pools of several sizes say what each size gives.
    """
    from assay.cli.index.costing import show_cost

    raise typer.Exit(show_cost(inside, dram or [1, 2, 6], quotes, as_of, (band, data), json))
