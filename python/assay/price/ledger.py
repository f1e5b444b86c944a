"""What a result was made of: each price that was looked up, each number that was given, each warning."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from assay.price.book import OLD_DAYS, Book, Price
from assay.price.fact import Fact, given
from assay.price.part import Part


@dataclass
class Ledger:
    """Looks prices up in a book and remembers them."""

    book: Book
    prices: dict[tuple[str, str, str], Price] = field(default_factory=dict)
    inputs: list[dict[str, Any]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def usd(self, item: str, unit: str = "each", study: str = "") -> Decimal:
        """A price in US dollars."""
        return self.keep(self.book.price(item, unit, study)).usd

    def keep(self, price: Price) -> Price:
        """Remembers a price that was found elsewhere."""
        self.prices[price.entry.item, price.unit, price.entry.date] = price
        return price

    def fact(self, part: Part, name: str) -> Decimal:
        """A fact of a part that must be there."""
        found = part.fact(name)
        self.note_fact(f"{part.item} {name}", found)
        return found.value

    def note_fact(self, name: str, fact: Fact) -> None:
        """Remembers a fact."""
        document = fact.document(name)
        if document not in self.inputs:
            self.inputs.append(document)

    def given(self, name: str, value: float, source: str = "given on the command line") -> float:
        """Remembers a number that the user gave."""
        self.inputs.append(given(name, value, source))
        return value

    def warn(self, sentence: str) -> None:
        """A sentence that the reader must see."""
        if sentence not in self.warnings:
            self.warnings.append(sentence)

    def document(self) -> dict[str, Any]:
        """Prices, inputs and warnings as results print them."""
        return {
            "prices": [price.document() for price in self.prices.values()],
            "inputs": self.inputs,
            "warnings": [*self.warnings, *self._old()],
        }

    def _old(self) -> list[str]:
        old = [price for price in self.prices.values() if price.stale]
        if not old:
            return []
        named = ", ".join(f"{price.entry.item} ({price.entry.date})" for price in old)
        number = "one price is" if len(old) == 1 else f"{len(old)} prices are"
        return [f"{number} older than {OLD_DAYS} days: {named}; quote today's with --quotes FILE"]
