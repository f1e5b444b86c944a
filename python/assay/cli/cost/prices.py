"""`assay cost prices`."""

from __future__ import annotations

from typing import Annotated

import typer

from assay.cli.cost.flags import AsOf, Quotes
from assay.cli.flags import JsonFlag


def prices(
    word: Annotated[str, typer.Argument(metavar="[WORD]", help="Only items that hold it.")] = "",
    quotes: Quotes = None,
    as_of: AsOf = None,
    json: JsonFlag = False,
) -> None:
    """The price book: each entry with its date and source."""
    from assay.cli.cost.session import CostSession
    from assay.price.listing import listing

    session = CostSession(quotes, as_of, 1.0, json)
    raise typer.Exit(session.show(listing(session.ledger, word)))
