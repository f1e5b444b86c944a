"""`assay cost budget`."""

from __future__ import annotations

from typing import Annotated

import typer

from assay.cli.cost.flags import AsOf, Band, Quotes
from assay.cli.flags import JsonFlag


def budget(
    usd: Annotated[float, typer.Option("--usd", help="The sum, US dollars.")] = 2000.0,
    date: Annotated[str | None, typer.Option("--date", metavar="YEAR[-MM]", help="Only prices of this date.")] = None,
    quotes: Quotes = None,
    band: Band = 2.0,
    as_of: AsOf = None,
    json: JsonFlag = False,
) -> None:
    """What a sum of money buys: capacity, bandwidth and random reads, at each date that has prices."""
    from assay.cli.cost.session import CostSession
    from assay.price.budget import budget as compute

    session = CostSession(quotes, as_of, band, json)
    raise typer.Exit(session.show(compute(session.ledger, usd, band, date)))
