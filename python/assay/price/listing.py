"""The price book as a list."""

from __future__ import annotations

from assay.price.answer import Answer
from assay.price.ledger import Ledger


def listing(ledger: Ledger, word: str = "") -> Answer:
    """Every entry whose item holds `word`, the newest of each item first."""
    rows, grid = [], [["item", "value", "per", "date", "kind", "from", "source"]]
    for item in (item for item in ledger.book.items() if word in item):
        for entry, origin in ledger.book.entries(item):
            rows.append(entry.model_dump(mode="json") | {"value": float(entry.value), "origin": origin})
            value = f"{entry.value} {entry.currency}"
            grid.append([item, value, entry.unit, entry.date, entry.kind, origin, entry.source])
    lines = [f"{len(rows)} prices; --quotes FILE adds yours, which win."]
    return Answer("cost prices", {"rows": rows}, lines, ledger, "", grid)
