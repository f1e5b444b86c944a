"""So many of a part, as the command line writes it: `p4610-1.6t*4`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from assay.price.band import Prices
from assay.price.error import PriceError


@dataclass(frozen=True)
class Holding:
    """An item and how many of it."""

    item: str
    count: int = 1

    def __str__(self) -> str:
        return self.item if self.count == 1 else f"{self.count} x {self.item}"


def parse(text: str) -> Holding:
    """`ITEM` or `ITEM*COUNT`."""
    item, star, count = text.partition("*")
    hint = "write ITEM or ITEM*COUNT, such as p4610-1.6t*4; `assay cost prices` lists the items"
    if not item or (star and not count.isdecimal()) or (star and int(count) == 0):
        raise PriceError(f"`{text}` is not a number of parts", hint)
    return Holding(item.strip(), int(count) if star else 1)


def total(holdings: Sequence[Holding], prices: Prices) -> Decimal:
    """What they cost together."""
    return sum((prices[one.item] * one.count for one in holdings), Decimal(0))
