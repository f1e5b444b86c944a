"""`assay cost total`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.cost.flags import AsOf, Band, Quotes
from assay.cli.flags import JsonFlag


def total(
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="The order: parts, months, work.")] = None,
    parts: Annotated[list[str] | None, typer.Option("--part", metavar="ITEM*N", help="A part; repeated.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Such as months=36, work.iops=500000, endurance.rated=5PB."),
    ] = None,
    inside: Annotated[Path | None, typer.Option("--in", metavar="DIR", help="Result folder of a record.")] = None,
    cell: Annotated[
        str | None, typer.Option("--cell", metavar="ID", help="Record that says what it does and writes.")
    ] = None,
    quotes: Quotes = None,
    band: Band = 2.0,
    as_of: AsOf = None,
    json: JsonFlag = False,
) -> None:
    """What a system costs over months, and per GB, GB/s, IOPS, million operations, transaction.

    Purchase over lifetime, energy, endurance, copies, support, and the rules of memory modules. Rates and bytes
    written are given, or come from a record of a cell, an index, an engine or a database: --in DIR --cell ID.
    """
    from assay.cli.cost.session import CostSession, order_of, seen_of
    from assay.price.ownership import total as compute

    session = CostSession(quotes, as_of, band, json)
    seen = seen_of(inside, cell)
    order = order_of(file, parts or [], settings or [], seen.order() if seen else None)
    raise typer.Exit(session.show(compute(session.ledger, order, band, seen)))
