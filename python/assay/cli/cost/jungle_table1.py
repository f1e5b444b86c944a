"""`assay cost jungle-table1`."""

from __future__ import annotations

import typer

from assay.cli.cost.flags import AsOf, Band, Quotes
from assay.cli.flags import JsonFlag


def jungle_table1(quotes: Quotes = None, band: Band = 2.0, as_of: AsOf = None, json: JsonFlag = False) -> None:
    """The table of price per capacity of Huang et al. (CIDR 2022), from its ingredients."""
    from assay.cli.cost.session import CostSession
    from assay.price.jungle import table1

    session = CostSession(quotes, as_of, band, json)
    raise typer.Exit(session.show(table1(session.ledger, band)))
