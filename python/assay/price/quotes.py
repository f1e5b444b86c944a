"""A user's own prices, exchange rates and parts: they win over the catalog."""

from __future__ import annotations

from assay.price.entry import Entry, Exchange
from assay.price.part import Part
from assay.study.model import Table


class Quotes(Table):
    """A file of quotes."""

    price: list[Entry] = []
    exchange: list[Exchange] = []
    part: list[Part] = []
