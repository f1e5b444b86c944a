"""A figure that is no price, with where it came from."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Literal

from pydantic import Field

from assay.document.table import Table

Provenance = Literal["measured", "emulated", "modelled", "published", "datasheet", "assumed"]


class Fact(Table):
    """One number with provenance, source and date; its unit stands last in its name."""

    value: Decimal = Field(ge=0)
    kind: Provenance
    source: str = Field(min_length=1)
    date: str = Field(min_length=1)

    def document(self, name: str) -> dict[str, Any]:
        """As results print it."""
        return {
            "name": name,
            "value": float(self.value),
            "provenance": self.kind,
            "source": self.source,
            "date": self.date,
        }


def given(name: str, value: float, source: str = "given on the command line") -> dict[str, Any]:
    """A number that the user gave: it is taken for granted."""
    return {"name": name, "value": value, "provenance": "assumed", "source": source, "date": None}
