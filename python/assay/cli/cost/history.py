"""`assay cost history`."""

from __future__ import annotations

import typer

from assay.cli.cost.flags import AsOf, Band, Quotes
from assay.cli.flags import JsonFlag


def history(quotes: Quotes = None, band: Band = 2.0, as_of: AsOf = None, json: JsonFlag = False) -> None:
    """Capacity per dollar over the years."""
    from assay.cli.cost.session import CostSession
    from assay.price.history import capacity

    session = CostSession(quotes, as_of, band, json)
    raise typer.Exit(session.show(capacity(session.ledger, band)))
