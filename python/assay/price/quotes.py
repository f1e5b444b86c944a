"""A user's own prices, exchange rates and parts: they win over the catalog."""

from __future__ import annotations

from pydantic import Field

from assay.document.table import Table
from assay.price.entry import Entry, Exchange
from assay.price.part import Part


class Quotes(Table):
    """A file of quotes."""

    price: list[Entry] = Field(default_factory=list)
    exchange: list[Exchange] = Field(default_factory=list)
    part: list[Part] = Field(default_factory=list)
