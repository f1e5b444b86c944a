"""What a system costs over months, and per unit of what it does.

Purchase is spread evenly over the life of each part; storage that is written to death before its life is spread over
the shorter time. Energy is kWh of idle and active power. Support is a share of the purchase a year. Everything counts
once per copy. The share of the purchase that writes use up (bytes written x write amplification by rated bytes) is
shown beside it and is not added twice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from assay.price.answer import Answer, span
from assay.price.band import Prices, swing
from assay.price.error import PriceError
from assay.price.ledger import Ledger
from assay.price.order import Bought, Endurance, Order
from assay.price.part import STORAGE, Part
from assay.price.population import judge
from assay.price.seen import Seen

HOURS_PER_MONTH = 730.0
DAYS_PER_MONTH = HOURS_PER_MONTH / 24
SECONDS_PER_MONTH = HOURS_PER_MONTH * 3600
FORMULA = "copies * (sum(price * count * months / min(life, wear)) + energy + support)"


@dataclass(frozen=True)
class OwnedPart:
    """One part of the order with its lives in months; wear is none where nothing wears it out."""

    bought: Bought
    part: Part | None
    life: float
    wear: float | None

    @property
    def months_of_use(self) -> float:
        """What it is spread over."""
        return self.life if self.wear is None else min(self.life, self.wear)


class Bill:
    """An order with its facts; computes from a set of prices."""

    def __init__(self, ledger: Ledger, order: Order) -> None:
        self.ledger = ledger
        self.order = order
        self.not_counted: list[dict[str, str]] = []
        self.energy_kwh = self._kwh()
        storage = [one for one in order.parts if self._is_storage(one)]
        self.drives = sum(one.count for one in storage)
        self.lines = [self._line(one) for one in order.parts]
        self.prices = {one.item: ledger.usd(one.item) for one in order.parts}
        if order.energy is not None:
            self.prices[order.energy.item] = ledger.usd(order.energy.item, "kWh")

    def _part(self, item: str) -> Part | None:
        return self.ledger.book.parts.get(item)

    def _is_storage(self, bought: Bought) -> bool:
        part = self._part(bought.item)
        return part is not None and part.family in STORAGE

    def _line(self, bought: Bought) -> OwnedPart:
        part = self._part(bought.item)
        wear = self._wear(bought, part) if self._is_storage(bought) else None
        return OwnedPart(bought, part, bought.lifetime_months or self.order.lifetime_months, wear)

    def _wear(self, bought: Bought, part: Part | None) -> float | None:
        """Months until the rated bytes are written; the writes spread evenly over all drives."""
        use = self.order.endurance
        if use is None or part is None:
            return None
        if use.rated is None and part.rated_write_bytes is None:
            reason = f"no source gives the rated writes of {bought.item}; give endurance.rated"
            self.not_counted.append({"what": f"wear of {bought.item}", "reason": reason})
            return None
        rated = use.rated or float(self.ledger.fact(part, "rated_write_bytes"))
        return rated * self.drives / (use.per_day * DAYS_PER_MONTH)

    def _kwh(self) -> float | None:
        energy = self.order.energy
        if energy is None:
            reason = "give energy with idle_w, active_w and utilisation, and quote `electricity` per kWh"
            self.not_counted.append({"what": "energy", "reason": reason})
            return None
        if energy.active_w < energy.idle_w:
            raise PriceError(
                f"{energy.active_w:g} W active is less than {energy.idle_w:g} W idle", "exchange active_w and idle_w"
            )
        watts = energy.idle_w + energy.utilisation * (energy.active_w - energy.idle_w)
        return watts / 1000 * HOURS_PER_MONTH * self.order.months

    def share(self, line: OwnedPart) -> float:
        """How much of a part counts: W * U / T of a processor where that is asked, otherwise all."""
        use = self.order.processor
        if use is None or line.part is None or line.part.family != "cpu":
            return 1.0
        threads = float(self.ledger.fact(line.part, "threads"))
        return use.threads * use.utilisation / threads

    def breakdown(self, prices: Prices) -> dict[str, float]:
        """US dollars over the months, all copies, by what they are spent on."""
        order, purchase = self.order, 0.0
        outlay = 0.0
        for line in self.lines:
            price = float(prices[line.bought.item]) * line.bought.count * self.share(line)
            outlay += price
            purchase += price * order.months / line.months_of_use
        energy = (self.energy_kwh or 0.0) * float(prices[order.energy.item]) if order.energy else 0.0
        support = outlay * order.support_percent_per_year / 100 * order.months / 12
        costs = {"purchase": purchase, "energy": energy, "support": support}
        return {name: usd * order.copies for name, usd in costs.items()}

    def total(self, prices: Prices) -> float:
        """US dollars over the months."""
        return sum(self.breakdown(prices).values())

    def worn(self) -> list[dict[str, Any]]:
        """What the writes use up."""
        found = []
        for line in self.lines:
            if line.wear is not None:
                usd = float(self.prices[line.bought.item]) * line.bought.count * self.order.months / line.wear
                found.append(
                    {
                        "item": line.bought.item,
                        "wear_months": line.wear,
                        "life_months": line.life,
                        "worn_out_before_its_life": line.wear < line.life,
                        "usd_used_up_by_writes": usd * self.order.copies,
                    }
                )
        return found

    def capacity_bytes(self) -> float | None:
        """What one copy holds: given, or the labels of its storage."""
        if self.order.work.capacity is not None:
            return self.order.work.capacity
        labels = [
            float(self.ledger.fact(line.part, "nominal_gb")) * 1e9 * line.bought.count
            for line in self.lines
            if line.part is not None and line.part.family in STORAGE and line.part.nominal_gb is not None
        ]
        return sum(labels) or None

    def per_unit(self, total: float) -> dict[str, float | None]:
        """US dollars per unit of capacity, speed and work; none where the order does not say how much there is."""
        work, months, capacity = self.order.work, self.order.months, self.capacity_bytes()
        operations = None if work.ops_per_s is None else work.ops_per_s * SECONDS_PER_MONTH * months
        transactions = None if work.transactions_per_s is None else work.transactions_per_s * SECONDS_PER_MONTH * months
        return {
            "usd_per_gb": _by(total, capacity, 1e9),
            "usd_per_gb_month": _by(total / months, capacity, 1e9),
            "usd_per_gb_per_s": _by(total, work.bandwidth, 1e9),
            "usd_per_iops": _by(total, work.iops, 1),
            "usd_per_million_operations": _by(total, operations, 1e6),
            "operations_per_usd": None if operations is None else operations / total,
            "usd_per_transaction": _by(total, transactions, 1),
        }


def _by(usd: float, amount: float | None, unit: float) -> float | None:
    return None if amount is None else usd / (amount / unit)


def check_population(ledger: Ledger, order: Order) -> None:
    """Refuses memory modules that no socket takes; says where no source documents a mix."""
    counted = {"pmem": 0, "dram": 0}
    sizes = set()
    for one in order.parts:
        part = ledger.book.parts.get(one.item)
        if part is not None and part.family in counted:
            counted[part.family] += one.count
            sizes |= {one.item} if part.family == "pmem" else set()
    if not counted["pmem"]:
        return
    pmem, dram = (math.ceil(counted[family] / order.sockets) for family in ("pmem", "dram"))
    found = judge(pmem, dram, sizes=len(sizes))
    if found.verdict == "illegal":
        raise PriceError(found.reason, f"change the counts or give `sockets` ({found.source}, {found.date})")
    if found.verdict == "unknown":
        ledger.warn(found.reason)


def total(ledger: Ledger, order: Order, factor: float, seen: Seen | None = None) -> Answer:
    """What the order costs; `seen` is the record that says what it does."""
    check_population(ledger, order)
    if seen is not None:
        seen.note(ledger)
    bill = Bill(ledger, order)
    band = swing(bill.total, bill.prices, factor)
    usd, parts, worn = bill.total(bill.prices), bill.breakdown(bill.prices), bill.worn()
    figures: dict[str, Any] = {
        "order": order.model_dump(mode="json") | {"provenance": "assumed", "source": "the order"},
        "months": order.months,
        "copies": order.copies,
        "usd": usd,
        "usd_per_month": usd / order.months,
        "breakdown_usd": parts,
        **bill.per_unit(usd),
        "endurance": worn,
        "not_counted": bill.not_counted,
        "record": None if seen is None else seen.document(),
        "band": band,
    }
    if seen is not None and order.endurance is not None:
        _say_assumptions(ledger, order.endurance)
    for entry in worn:
        if entry["worn_out_before_its_life"]:
            ledger.warn(
                f"{entry['item']} is worn out after {entry['wear_months']:.1f} months,"
                f" before its life of {entry['life_months']:g}; it is replaced then"
            )
    return Answer("cost total", figures, _lines(figures, band), ledger, FORMULA)


def _say_assumptions(ledger: Ledger, use: Endurance) -> None:
    """What a record does not know of endurance."""
    if use.write_amplification == 1:
        ledger.warn(
            "what the drive writes inside of itself is not in a record: write amplification 1 is taken, the least;"
            " give --set endurance.write_amplification=N"
        )
    if use.hours_per_day == 24:
        ledger.warn("the record's rate is taken to go on all day; give --set endurance.hours_per_day=N")


def _lines(figures: dict[str, Any], band: dict[str, Any]) -> list[str]:
    spent = ", ".join(f"{name} {usd:.2f}" for name, usd in figures["breakdown_usd"].items() if usd)
    names = {
        "usd_per_gb": "per GB",
        "usd_per_gb_month": "per GB and month",
        "usd_per_gb_per_s": "per GB/s",
        "usd_per_iops": "per IOPS",
        "usd_per_million_operations": "per million operations",
        "usd_per_transaction": "per transaction",
    }
    units = [f"{figures[key]:.4g} USD {words}" for key, words in names.items() if figures[key] is not None]
    lines = [
        f"{figures['usd']:.2f} USD over {figures['months']:g} months, {figures['usd_per_month']:.2f} a month: {spent}.",
        f"The total is {span(band, 'USD')}.",
    ]
    lines += [f"That is {'; '.join(units)}."] if units else []
    for entry in figures["endurance"]:
        lines.append(
            f"Writes use up {entry['usd_used_up_by_writes']:.2f} USD of {entry['item']};"
            f" its rated bytes last {entry['wear_months']:.1f} months."
        )
    return [*lines, *(f"Not counted: {entry['what']}: {entry['reason']}." for entry in figures["not_counted"])]
