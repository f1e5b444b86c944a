"""What a sum of money buys: capacity, bandwidth and random reads.

Haas, Haubenschild and Leis, "Exploiting Directly-Attached NVMe Arrays in DBMS" (CIDR 2020), table 1, for the end of
2019; the same question for every later date that the price book has.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from assay.price import part as parts_of
from assay.price.answer import Answer
from assay.price.band import Prices, swing
from assay.price.book import Price
from assay.price.error import PriceError
from assay.price.ledger import Ledger
from assay.price.part import Assembly, Part

TIB = 2**40
_FORMULA = "floor(usd / price) * figures of one"
FIGURES = ("capacity_bytes", "read_bytes_per_s", "write_bytes_per_s", "random_reads_per_s")


def budget(ledger: Ledger, usd: float, factor: float, date: str | None = None) -> Answer:
    """One row per dated price of storage and memory."""
    if not usd > 0:
        raise PriceError(f"{usd:g} USD buy nothing", "give --usd above zero")
    rows = [row for price, part in _priced(ledger, date) for row in _rows(ledger, price, part, usd, factor)]
    rows.sort(key=lambda row: (row["date"], row["technology"], row["item"]))
    figures = {"usd": usd, "rows": rows}
    if not rows:
        return Answer("cost budget", figures, [_too_little(ledger, usd, date)], ledger, _FORMULA)
    lines = [f"What {usd:g} USD buy (GB/s and million random reads a second; - where no source gives a figure):"]
    return Answer("cost budget", figures, lines, ledger, _FORMULA, _grid(rows))


def _too_little(ledger: Ledger, usd: float, date: str | None) -> str:
    """A sum that no part of the book can be had for."""
    dated = f" of {date}" if date else ""
    least = min(_priced(ledger, date), key=lambda pair: pair[0].usd, default=None)
    if least is None:
        return f"The price book has no price{dated}; `assay cost prices` lists what it has."
    price, part = least
    cheapest = f"the cheapest is {part.title} at {price.usd:.2f} USD ({price.entry.date})"
    return f"{usd:g} USD buy no part{dated} of the price book; {cheapest}."


def _priced(ledger: Ledger, date: str | None) -> Iterator[tuple[Price, Part]]:
    for part in ledger.book.parts.values():
        if part.family == "cpu":
            continue
        for price in ledger.book.dated(part.item):
            if date is None or price.entry.date.startswith(date):
                yield price, part


def _rows(ledger: Ledger, price: Price, part: Part, usd: float, factor: float) -> Iterator[dict[str, Any]]:
    count = math.floor(Decimal(str(usd)) / price.usd)
    if count == 0:
        return
    ledger.keep(price)
    assembly = _assembly(part, price)

    def bought(moved: Prices) -> float:
        return math.floor(Decimal(str(usd)) / moved[part.item])

    band = swing(bought, {part.item: price.usd}, factor)
    figures = _scaled(assembly, part, count) if assembly else _singles(ledger, part, count)
    published = assembly is not None and assembly.count == count
    yield {
        "date": price.entry.date,
        "technology": assembly.technology if assembly else part.family,
        "item": part.item,
        "title": part.title,
        "set": f"{count} x {part.title}",
        "count": count,
        "spent_usd": float(price.usd * count),
        "usd_each": float(price.usd),
        "printed_capacity_tb": float(assembly.capacity_tb_printed) if published and assembly else None,
        "capacity_tib": _by(figures["capacity_bytes"], TIB),
        "read_gb_per_s": _by(figures["read_bytes_per_s"], 1e9),
        "write_gb_per_s": _by(figures["write_bytes_per_s"], 1e9),
        "random_reads_m_per_s": _by(figures["random_reads_per_s"], 1e6),
        "provenance": "published" if published else "modelled",
        "basis": _basis(assembly, count),
        "source": assembly.source if assembly else price.entry.source,
        "count_band": {"factor": band["factor"], "low": int(band["low"]), "high": int(band["high"])},
    }


def _assembly(part: Part, price: Price) -> Assembly | None:
    """The set that a study printed for this very price."""
    same = [one for one in parts_of.catalog_parts().set if one.item == part.item and one.date == price.entry.date]
    return same[0] if same and price.origin == "catalog" else None


def _basis(assembly: Assembly | None, count: int) -> str:
    if assembly is None:
        return "data sheet of one, times the count; an upper bound"
    if assembly.count == count:
        return f"printed for {assembly.count}"
    return f"printed for {assembly.count}, scaled by the count"


def _scaled(assembly: Assembly, part: Part, count: int) -> dict[str, float | None]:
    names = ("read_bytes_per_s", "write_bytes_per_s", "random_reads_per_s")
    scaled: dict[str, float | None] = {name: float(getattr(assembly, name)) * count / assembly.count for name in names}
    capacity = float(part.fact("nominal_gb").value) * 1e9 if part.family in ("ssd", "disk") else None
    capacity = float(part.fact("capacity_bytes").value) if capacity is None else capacity
    return scaled | {"capacity_bytes": capacity * count}


def _singles(ledger: Ledger, part: Part, count: int) -> dict[str, float | None]:
    facts = {
        "capacity_bytes": part.capacity_bytes,
        "read_bytes_per_s": part.read_bytes_per_s,
        "write_bytes_per_s": part.write_bytes_per_s,
        "random_reads_per_s": part.read_iops,
    }
    for name, fact in facts.items():
        if fact is not None:
            ledger.note_fact(f"{part.item} {name}", fact)
    return {name: None if fact is None else float(fact.value) * count for name, fact in facts.items()}


def _by(amount: float | None, unit: float) -> float | None:
    return None if amount is None else amount / unit


def _grid(rows: list[dict[str, Any]]) -> list[list[str]]:
    head = ["date", "what", "spent USD", "TiB", "read", "write", "random reads", "provenance"]
    keys = ("capacity_tib", "read_gb_per_s", "write_gb_per_s", "random_reads_m_per_s")
    return [
        head,
        *(
            [row["date"], row["set"], f"{row['spent_usd']:.2f}"]
            + ["-" if row[key] is None else f"{row[key]:.3g}" for key in keys]
            + [row["provenance"]]
            for row in rows
        ),
    ]
