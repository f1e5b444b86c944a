"""R for a configuration of one's own: numbers that are given, or a record's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from assay.price.answer import Answer, span
from assay.price.band import Prices, swing
from assay.price.error import PriceError
from assay.price.holding import Holding, total
from assay.price.jungle import RATIO, hardware_usd
from assay.price.ledger import Ledger


@dataclass(frozen=True)
class Load:
    """What was reached with how much CPU: throughput, worker threads, and their utilisation between 0 and 1."""

    throughput: float
    unit: str
    threads: float
    utilisation: float
    provenance: str = "assumed"
    source: str = "given on the command line"
    warnings: Sequence[str] = field(default_factory=tuple)

    def check(self) -> Load:
        """The load, or a sentence that says which number cannot be."""
        if not self.throughput > 0:
            raise PriceError(f"a throughput of {self.throughput:g} has no ratio", "give a throughput above zero")
        if not self.threads > 0:
            raise PriceError(f"{self.threads:g} worker threads do no work", "give --threads above zero")
        if not 0 <= self.utilisation <= 1:
            hint = "give --utilisation from 0 to 1: CPU seconds of the workers by threads and seconds"
            raise PriceError(f"a utilisation of {self.utilisation:g} is not between 0 and 1", hint)
        return self


@dataclass(frozen=True)
class PricedMachine:
    """What is paid for: storage, memory, one processor."""

    storage: Sequence[Holding]
    dram: Sequence[Holding]
    cpu: str
    threads: float | None = None


def missing_utilisation() -> PriceError:
    """R without a measured U would be a guess."""
    hint = "give --utilisation U (0 to 1), or a record that counted CPU: --in DIR --cell ID"
    return PriceError("the utilisation U of the worker threads is missing", hint)


def ratio(ledger: Ledger, machine: PricedMachine, load: Load, factor: float) -> Answer:
    """R and what it is made of."""
    load.check()
    prices = {one.item: ledger.usd(one.item) for one in [*machine.storage, *machine.dram]}
    prices[machine.cpu] = ledger.usd(machine.cpu)
    threads = _threads(ledger, machine)
    _note(ledger, load)

    def bottom(moved: Prices) -> Decimal:
        used = Decimal(str(load.threads)) * Decimal(str(load.utilisation))
        return hardware_usd(
            total(machine.storage, moved), total(machine.dram, moved), moved[machine.cpu], used, threads
        )

    band = swing(lambda moved: load.throughput / float(bottom(moved)), prices, factor)
    dollars = bottom(prices)
    value = load.throughput / float(dollars)
    figures: dict[str, Any] = {
        "r": value,
        "unit": f"{load.unit} per USD",
        "usd": float(dollars),
        "storage_usd": float(total(machine.storage, prices)),
        "dram_usd": float(total(machine.dram, prices)),
        "cpu_usd": float(dollars - total(machine.storage, prices) - total(machine.dram, prices)),
        "throughput": load.throughput,
        "threads": load.threads,
        "utilisation": load.utilisation,
        "band": band,
    }
    lines = [
        f"R = {value:.6g} {figures['unit']}: {load.throughput:.6g} {load.unit} for {float(dollars):.2f} USD.",
        (
            f"Storage {figures['storage_usd']:.2f}, memory {figures['dram_usd']:.2f}, processor in use"
            f" {figures['cpu_usd']:.2f} USD ({load.threads:g} threads, {load.utilisation:.1%} busy, of {threads:g})."
        ),
        f"R is {span(band, figures['unit'])}.",
    ]
    return Answer("cost ratio", figures, lines, ledger, RATIO)


def _threads(ledger: Ledger, machine: PricedMachine) -> Decimal:
    if machine.threads is not None:
        return Decimal(str(ledger.given("hardware threads of the processor", machine.threads)))
    return ledger.fact(ledger.book.part(machine.cpu), "threads")


def _note(ledger: Ledger, load: Load) -> None:
    for name, value in (("throughput", load.throughput), ("threads", load.threads), ("utilisation", load.utilisation)):
        note = {"name": name, "value": value, "provenance": load.provenance, "source": load.source, "date": None}
        ledger.inputs.append(note)
    for sentence in load.warnings:
        ledger.warn(sentence)
