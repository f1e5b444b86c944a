"""The past: what the five-minute rule gave, and what capacity cost, as publications printed it."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from assay import home
from assay.document.table import Table
from assay.price.answer import Answer
from assay.price.band import Prices, swing
from assay.price.interval import interval_s
from assay.price.ledger import Ledger
from assay.price.order import Above0
from assay.price.reading import read


class Rule(Table):
    """One calculation of the five-minute rule; without inputs where only its result was found."""

    year: int
    upper: str
    lower: str
    page_bytes: Above0
    interval_s: Above0
    source: str
    date: str
    usd_per_mb: Above0 | None = None
    mb_bytes: Above0 | None = None
    device_usd: Above0 | None = None
    device_iops: Above0 | None = None
    usd_per_access_per_s: Above0 | None = None
    tolerance: Above0 | None = None

    def computed_s(self) -> float | None:
        """The interval from the inputs, seconds."""
        if self.usd_per_mb is None or self.mb_bytes is None:
            return None
        access = self.usd_per_access_per_s
        if access is None and self.device_usd is not None and self.device_iops is not None:
            access = self.device_usd / self.device_iops
        return None if access is None else interval_s(access, self.page_bytes, self.usd_per_mb / self.mb_bytes)


class CapacityPrice(Table):
    """What a megabyte cost in a year."""

    year: int
    dram_usd_per_mb: Above0
    flash_usd_per_mb: Above0 | None = None
    disk_usd_per_mb: Above0
    kind: str
    source: str
    date: str


class History(Table):
    """The file of history."""

    rule: list[Rule]
    capacity: list[CapacityPrice]


@cache
def history() -> History:
    """The history of the catalog."""
    return read(home.catalog() / "prices" / "history.toml", History, "history")


def rules(ledger: Ledger) -> Answer:
    """The rule through the years: printed, and computed again where the inputs are known."""
    rows = [_rule(one) for one in history().rule]
    grid = [["year", "keep in", "instead of", "page", "printed", "computed", "source"]]
    for row in rows:
        computed = "-" if row["computed_s"] is None else spoken(row["computed_s"])
        page = f"{row['page_bytes']:g} B"
        years = [str(row["year"]), row["upper"], row["lower"]]
        grid.append([*years, page, spoken(row["published_s"]), computed, row["source"]])
    lines = ["Keep a page in the faster tier when it is used more often than once in:"]
    return Answer(
        "cost break-even --history", {"rows": rows}, lines, ledger, "pages per MB / IOPS * price / price per MB", grid
    )


def _rule(one: Rule) -> dict[str, Any]:
    return {
        "year": one.year,
        "upper": one.upper,
        "lower": one.lower,
        "page_bytes": one.page_bytes,
        "published_s": one.interval_s,
        "computed_s": one.computed_s(),
        "provenance": "published",
        "source": one.source,
        "date": one.date,
    }


def capacity(ledger: Ledger, factor: float = 2.0) -> Answer:
    """Capacity per dollar: publications in constant dollars, then the price book in dollars of the day."""
    rows = [row for one in history().capacity for row in _capacity(one)]
    for part in ledger.book.parts.values():
        if part.family == "cpu" or part.capacity_bytes is None:
            continue
        for price in ledger.book.dated(part.item):
            ledger.keep(price)
            gb = float(part.capacity_bytes.value) / 1e9
            row: dict[str, Any] = {"technology": part.family, "item": part.item, "money": "dollars of the day"}
            row |= {"date": price.entry.date, "gb_per_usd": gb / float(price.usd), "provenance": "published"}
            row["band"] = swing(partial(_per_usd, gb), {"price": price.usd}, factor)
            rows.append(row | {"source": price.entry.source})
    rows.sort(key=lambda row: (row["technology"], row["date"]))
    grid = [["technology", "date", "GB per USD", "money", "what"]]
    for row in rows:
        shown = [row["technology"], row["date"], f"{row['gb_per_usd']:.4g}"]
        grid.append([*shown, row["money"], row["item"] or row["source"]])
    lines = ["Capacity per dollar over the years:"]
    return Answer("cost history", {"rows": rows}, lines, ledger, "capacity / price", grid)


def _per_usd(gb: float, prices: Prices) -> float:
    return gb / float(prices["price"])


def _capacity(one: CapacityPrice) -> list[dict[str, Any]]:
    kinds = {"dram": one.dram_usd_per_mb, "ssd": one.flash_usd_per_mb, "disk": one.disk_usd_per_mb}
    return [
        {
            "technology": name,
            "item": None,
            "money": "dollars of 2010",
            "date": str(one.year),
            "gb_per_usd": 1e-3 / usd,
            "provenance": one.kind,
            "source": one.source,
        }
        for name, usd in kinds.items()
        if usd is not None
    ]


def spoken(seconds: float) -> str:
    """An interval as people say it."""
    for unit, length in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * length or (unit == "d" and seconds >= length):
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.3g} s"
