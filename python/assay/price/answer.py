"""A result as JSON and as sentences."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay.price.ledger import Ledger
from assay.untyped import Json


@dataclass
class Answer:
    """Figures of one command, the sentences that say them, and what they were made of."""

    command: str
    figures: Json
    lines: list[str]
    ledger: Ledger
    formula: str = ""
    table: list[list[str]] = field(default_factory=list)

    def document(self) -> Json:
        """One JSON document."""
        head = {"command": self.command, "provenance": "modelled", "formula": self.formula, "as_of": str(self.now)}
        return head | self.figures | self.ledger.document()

    @property
    def now(self) -> object:
        """The day that ages are counted to."""
        return self.ledger.book.now


def span(band: Json, unit: str = "") -> str:
    """A band in words."""
    space = f" {unit}" if unit else ""
    ends = f"{band['low']:.4g} to {band['high']:.4g}{space}"
    return f"{ends} with prices from 1/{band['factor']:g} to {band['factor']:g} times"
