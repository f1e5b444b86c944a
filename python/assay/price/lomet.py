"""Cost by access rate of data in memory and data on a device (Lomet, DaMoN 2018).

    $MM = size * memory + rate * processor / ROPS in memory
    $SS = size * flash  + rate * (processor / ROPS from the device + device / IOPS)

Both are prices of hardware held; the cheaper one depends on the rate, and where they cross is the break-even with the
processor's part made explicit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from assay.price.answer import Answer, span
from assay.price.band import Prices, swing
from assay.price.error import PriceError
from assay.price.history import spoken
from assay.price.ledger import Ledger

FORMULA = "$MM = size*mem + rate*cpu/ROPS_mm; $SS = size*flash + rate*(cpu/ROPS_ss + device*share/IOPS)"


@dataclass(frozen=True)
class PricedStore:
    """What is compared: items, bytes of the data, and operations per second that the whole processor does."""

    size_bytes: float
    memory: str
    device: str
    cpu: str
    rops_mm: float
    rops_ss: float
    iops: float | None = None
    io_share: float = 1.0

    def check(self) -> PricedStore:
        """The store, or a sentence that says which number cannot be."""
        for name in ("size_bytes", "rops_mm", "rops_ss", "io_share"):
            if not getattr(self, name) > 0:
                raise PriceError(f"{name} of {getattr(self, name):g} cannot be", "give a number above zero")
        if self.rops_ss > self.rops_mm:
            hint = "give --rops-memory above --rops-device; both are measured, see docs/cost-tiers.md"
            raise PriceError("operations that reach the device cannot be cheaper than those in memory", hint)
        return self


class Curves:
    """The two lines over the access rate."""

    def __init__(self, store: PricedStore, iops: float, device_per_gib: float) -> None:
        """`device_per_gib` is the price of a GiB of the device as a share of the whole device's price."""
        self.store, self.iops, self.device_per_gib = store.check(), iops, device_per_gib

    def slopes(self, prices: Prices) -> dict[str, tuple[float, float]]:
        """Dollars at rate zero, and dollars per operation a second, of each line."""
        store, cpu = self.store, float(prices[self.store.cpu])
        gib = store.size_bytes / 2**30
        memory = gib * float(prices[f"{store.memory} per GiB"])
        flash = gib * float(prices[store.device]) * self.device_per_gib
        device = float(prices[store.device]) * store.io_share / self.iops
        return {"memory": (memory, cpu / store.rops_mm), "device": (flash, cpu / store.rops_ss + device)}

    def crossing(self, prices: Prices) -> float | None:
        """Operations a second above which memory is cheaper; none where it always is.

        The device's line is the steeper one: an operation that reaches it costs no less of the processor, and I/O.
        """
        lines = self.slopes(prices)
        fixed = lines["memory"][0] - lines["device"][0]
        slope = lines["device"][1] - lines["memory"][1]
        return fixed / slope if fixed > 0 else None

    def cost(self, prices: Prices, rate: float) -> dict[str, float]:
        """Dollars of both at a rate."""
        return {name: fixed + rate * slope for name, (fixed, slope) in self.slopes(prices).items()}


def lomet(ledger: Ledger, store: PricedStore, page_bytes: float, factor: float) -> Answer:
    """Curves and crossing."""
    store.check()
    iops = _iops(ledger, store)
    prices = {f"{store.memory} per GiB": ledger.usd(store.memory, "GiB")}
    prices |= {item: ledger.usd(item) for item in (store.device, store.cpu)}
    per_gib = ledger.usd(store.device, "GiB") / prices[store.device]
    ledger.given("ROPS in memory", store.rops_mm)
    ledger.given("ROPS from the device", store.rops_ss)
    ledger.given("share of the device's price counted for IOPS", store.io_share, "taken for granted; --io-share")
    curves = Curves(store, iops, float(per_gib))
    crossing = curves.crossing(prices)
    figures: dict[str, Any] = {"size_bytes": store.size_bytes, "iops": iops, "crossing_ops_per_s": crossing}
    if crossing is None:
        figures |= {"points": _points(curves, prices, iops), "band": None, "always_cheaper": "memory"}
        return Answer("cost lomet", figures, ["The lines do not cross: memory is always cheaper."], ledger, FORMULA)
    interval = store.size_bytes / page_bytes / crossing
    band = swing(lambda moved: curves.crossing(moved) or 0.0, prices, factor)
    figures |= {"interval_s": interval, "page_bytes": page_bytes, "band": band}
    figures |= {"points": _points(curves, prices, crossing)}
    lines = [
        (
            f"Below {crossing:.4g} operations a second over {store.size_bytes / 2**30:.4g} GiB the device is cheaper,"
            " above it memory is."
        ),
        f"Each page of {page_bytes:g} B is then used once in {spoken(interval)}.",
        f"The crossing is {span(band, 'operations/s')}; 0 means that the lines no longer cross.",
    ]
    return Answer("cost lomet", figures, lines, ledger, FORMULA, _grid(figures["points"]))


def _iops(ledger: Ledger, store: PricedStore) -> float:
    if store.iops is not None:
        if not store.iops > 0:
            raise PriceError(f"{store.iops:g} IOPS serve nobody", "give --iops above zero")
        return ledger.given("IOPS", store.iops)
    return float(ledger.fact(ledger.book.part(store.device), "read_iops"))


def _points(curves: Curves, prices: Prices, around: float) -> list[dict[str, float]]:
    rates = [around * 10 ** (step / 2) for step in range(-4, 5)]
    found = []
    for rate in rates:
        cost = curves.cost(prices, rate)
        found.append({"ops_per_s": rate, "memory_usd": cost["memory"], "device_usd": cost["device"]})
    return found


def _grid(points: list[dict[str, float]]) -> list[list[str]]:
    head = ["operations/s", "memory USD", "device USD", "cheaper"]
    return [
        head,
        *(
            [
                f"{one['ops_per_s']:.4g}",
                f"{one['memory_usd']:.2f}",
                f"{one['device_usd']:.2f}",
                "memory" if one["memory_usd"] < one["device_usd"] else "device",
            ]
            for one in points
        ),
    ]
