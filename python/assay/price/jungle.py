"""The ratio R of performance to cost, and the table of price per capacity that came with it.

Huang, Imai, Wang and Xie, "Rethinking the Performance/Cost of Persistent Memory and SSDs" (CIDR 2022):

    R = P / ($S + $D + W * U * $C / T)

P throughput, $S storage, $D memory, W worker threads, U their CPU utilisation between 0 and 1, $C the processor's
price, T its hardware threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from assay.price.answer import Answer
from assay.price.band import Prices, swing
from assay.price.error import PriceError
from assay.price.ledger import Ledger

RATIO = "R = P / ($S + $D + W * U * $C / T)"
STUDY = "jungle"
CPU, DRAM = "xeon-6242r", "ddr4-32g"
DRAM_MODULES = 6
CONFIGURATIONS = (("pm1", "pmem100-128g", 1), ("pm6", "pmem100-128g", 6), ("p4800x", "p4800x-375g", 1))
_CENT = Decimal("0.01")


def hardware_usd(storage: Decimal, dram: Decimal, cpu: Decimal, threads_used: Decimal, threads: Decimal) -> Decimal:
    """The bottom of R: storage, memory, and the share of the processor that is in use (W * U of T threads)."""
    if threads <= 0:
        raise PriceError("a processor without hardware threads has no price per thread", "give T above zero")
    return storage + dram + threads_used * cpu / threads


def cents(amount: Decimal) -> Decimal:
    """Rounded to the cent, a half upwards, as tables are."""
    return amount.quantize(_CENT, ROUND_HALF_UP)


@dataclass(frozen=True)
class Configuration:
    """One line of the table: so many of one storage part beside six modules of memory."""

    name: str
    item: str
    count: int
    gb: Decimal

    def bases(self, cpu_threads: Decimal) -> Iterator[tuple[str, bool, Decimal]]:
        """What is counted: name, whether memory is, and how many hardware threads are."""
        yield "storage", False, Decimal(0)
        yield "without cpu", True, Decimal(0)
        yield "full cpu", True, cpu_threads
        for used in (1, 5, 10):
            yield f"{used} thread{'s' if used > 1 else ''}", True, Decimal(used)

    def per_gb(self, prices: Prices, with_memory: bool, used: Decimal, threads: Decimal) -> Decimal:
        """US dollars per nominal GB of storage."""
        storage = prices[self.item] * self.count
        if not with_memory:
            return storage / self.gb
        return hardware_usd(storage, prices[DRAM] * DRAM_MODULES, prices[CPU], used, threads) / self.gb


def table1(ledger: Ledger, factor: float) -> Answer:
    """The table of price per capacity, from its ingredients."""
    prices = {item: ledger.usd(item, study=STUDY) for item in ("pmem100-128g", "p4800x-375g", DRAM, CPU)}
    threads = ledger.fact(ledger.book.part(CPU), "threads")
    rows = [
        row for name, item, count in CONFIGURATIONS for row in _rows(ledger, name, item, count, prices, threads, factor)
    ]
    lines = ["US dollars per GB (the label's), with six modules of 32 GB and one processor of 40 threads:"]
    grid = [["configuration", *dict.fromkeys(row["basis"] for row in rows)]]
    for name, _, _ in CONFIGURATIONS:
        grid.append([name, *(f"{row['usd_per_gb']:.2f}" for row in rows if row["configuration"] == name)])
    return Answer("cost jungle-table1", {"rows": rows}, lines, ledger, "(S + D + w * C / T) / capacity", grid)


def _rows(
    ledger: Ledger, name: str, item: str, count: int, prices: Prices, threads: Decimal, factor: float
) -> Iterator[dict[str, Any]]:
    line = Configuration(name, item, count, count * ledger.fact(ledger.book.part(item), "nominal_gb"))
    for basis, with_memory, used in line.bases(threads):
        exact = line.per_gb(prices, with_memory, used, threads)
        relevant = {key: prices[key] for key in ((item, DRAM, CPU) if with_memory else (item,))}

        def compute(moved: Prices, memory: bool = with_memory, busy: Decimal = used) -> float:
            return float(line.per_gb(moved, memory, busy, threads))

        band = swing(compute, relevant, factor)
        yield {
            "configuration": name,
            "basis": basis,
            "usd_per_gb": float(cents(exact)),
            "usd_per_gb_exact": float(exact),
            "low": band["low"],
            "high": band["high"],
            "provenance": "modelled",
        }
