"""A price book of round numbers: a drive of 100 dollars and a TB, 2 dollars a GiB of memory, a processor of 1000."""

from __future__ import annotations

from datetime import date
from typing import Any

from assay.price.book import Book
from assay.price.entry import Entry
from assay.price.ledger import Ledger
from assay.price.part import Part
from assay.price.quotes import Quotes

GIB = 2.0**30
_FACTS: dict[str, dict[str, float]] = {
    "drive": {
        "nominal_gb": 1000, "capacity_bytes": 10**12, "read_iops": 100_000, "read_bytes_per_s": 2 * 10**9,
        "write_bytes_per_s": 10**9, "rated_write_bytes": 73 * 10**13,
    },
    "bare": {"nominal_gb": 500},
    "dimm": {"nominal_gb": 32, "capacity_bytes": 2**35},
    "module": {"nominal_gb": 128, "capacity_bytes": 2**37},
    "other": {"nominal_gb": 256, "capacity_bytes": 2**38},
    "cpu": {"cores": 10, "threads": 20, "capacity_bytes": 7},
}  # fmt: skip
_FAMILIES = {"drive": "ssd", "bare": "ssd", "dimm": "dram", "module": "pmem", "other": "pmem", "cpu": "cpu"}
_PRICES = {"drive": 100, "bare": 40, "dimm": 64, "module": 500, "other": 900, "cpu": 1000, "tape": 5}


def fact(value: float) -> dict[str, Any]:
    return {"value": value, "kind": "datasheet", "source": "a sheet", "date": "2026"}


def part(item: str, **more: Any) -> Part:
    """A part of the shop."""
    facts = {name: fact(value) for name, value in _FACTS[item].items()}
    return Part.model_validate({"item": item, "title": item.title(), "family": _FAMILIES[item]} | facts | more)


def entry(item: str, value: float, unit: str = "each", **more: Any) -> Entry:
    """A price of January 2026."""
    plain = {"currency": "USD", "date": "2026-01", "source": "the shop", "kind": "list"}
    return Entry.model_validate({"item": item, "value": value, "unit": unit} | plain | more)


def book(*more: Entry, quotes: Quotes | None = None) -> Book:
    """The shop's prices and others, in February 2026; what comes later in the same month replaces nothing."""
    prices = [entry(item, value) for item, value in _PRICES.items() if item not in {one.item for one in more}]
    power = entry("electricity", 0.2, "kWh")
    return Book([*prices, power, *more], quotes, [part(item) for item in _FACTS], date(2026, 2, 1))


def ledger(*more: Entry) -> Ledger:
    """A ledger of the shop."""
    return Ledger(book(*more))
