"""The five-minute rule: how often a page must be used to earn its place in the faster tier.

Classic form (Gray and Putzolu 1987; Gray and Graefe 1997):

    tau = (pages per MB / IOPS) * (price of the device / price of a MB of memory)
        = (price of an access per second) / (page * price of a byte of memory)

With the host's part (after arXiv 2511.03944), an access per second also costs a share of a core and of memory
bandwidth, and IOPS are those that the device gives within a latency bound:

    access = device / IOPS within the bound + cycles * price of a core / clock + page * price of bandwidth
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from assay.price.answer import Answer, span
from assay.price.band import Prices, swing
from assay.price.curve import Curve, Point, usable_iops
from assay.price.error import PriceError
from assay.price.history import spoken
from assay.price.interval import interval_s
from assay.price.ledger import Ledger

CLASSIC = "tau = (pages per MB / IOPS) * (device / memory per MB)"
WITH_HOST = "tau = (device / IOPS + cycles * core / clock + page * bandwidth price) / (page * memory per byte)"


@dataclass(frozen=True)
class Host:
    """What the host pays for one access: cycles of a core, and optionally memory bandwidth."""

    cpu: str
    cycles: float | None
    clock_hz: float
    cores: float | None = None
    usd_per_gb_per_s: float = 0.0


@dataclass(frozen=True)
class Pair:
    """A faster tier, a slower one, and the page that lies in either."""

    upper: str
    lower: str
    page_bytes: float
    iops: float | None = None
    bound_s: float | None = None
    curve: Curve | None = None
    host: Host | None = None


class BreakEven:
    """A pair with its facts; computes from a set of prices."""

    def __init__(self, ledger: Ledger, pair: Pair) -> None:
        self.ledger, self.pair = ledger, pair
        self.prices = {f"{pair.upper} per GiB": ledger.usd(pair.upper, "GiB"), pair.lower: ledger.usd(pair.lower)}
        self.point: Point | None = None
        self.iops = self._iops()
        self.cores, self.cycles = 0.0, 0.0
        if pair.host is not None:
            self.prices[pair.host.cpu] = ledger.usd(pair.host.cpu)
            self.cores = self._cores(pair.host)
            self.cycles = self._cycles(pair.host)
            if not pair.host.clock_hz > 0:
                raise PriceError(f"a clock of {pair.host.clock_hz:g} Hz cannot be", "give a number above zero")
            ledger.given("clock, Hz", pair.host.clock_hz)

    def _iops(self) -> float:
        pair = self.pair
        if pair.bound_s is not None and pair.curve is None:
            hint = "give --twin NAME, --in DIR (records of random reads), or --curve FILE (columns iops, latency_us)"
            raise PriceError("a latency bound needs a curve of latency over load", hint)
        if pair.curve is not None:
            bound = pair.bound_s if pair.bound_s is not None else math.inf
            self.point = usable_iops(pair.curve.points, bound)
            name = "IOPS" if pair.bound_s is None else "IOPS within the latency bound"
            return self._from_curve(pair.curve, name, self.point.iops)
        if pair.iops is not None:
            if not pair.iops > 0:
                raise PriceError(f"{pair.iops:g} IOPS serve nobody", "give --iops above zero")
            return self.ledger.given("IOPS", pair.iops)
        return float(self.ledger.fact(self.ledger.book.part(pair.lower), "read_iops"))

    def _from_curve(self, curve: Curve, name: str, value: float) -> float:
        where = {"provenance": curve.provenance, "source": curve.source, "date": None}
        self.ledger.inputs.append({"name": name, "value": value, **where})
        return value

    def _cycles(self, host: Host) -> float:
        """Cycles of an access: given, or what the curve counted."""
        if host.cycles is not None:
            if not host.cycles > 0:
                raise PriceError(f"{host.cycles:g} cycles per access cannot be", "give a number above zero")
            return self.ledger.given("cycles per access", host.cycles)
        if self.pair.curve is None or self.point is None or self.point.cycles is None:
            raise PriceError(
                "the cycles of an access are missing", "give --cycles N, or --twin or --in, which have them"
            )
        return self._from_curve(self.pair.curve, "cycles per access", self.point.cycles)

    def _cores(self, host: Host) -> float:
        if host.cores is not None:
            return self.ledger.given("cores", host.cores)
        return float(self.ledger.fact(self.ledger.book.part(host.cpu), "cores"))

    def access(self, prices: Prices) -> dict[str, float]:
        """US dollars for one access per second, by what they are spent on."""
        host, device = self.pair.host, float(prices[self.pair.lower]) / self.iops
        if host is None:
            return {"device": device}
        core = float(prices[host.cpu]) / self.cores * self.cycles / host.clock_hz
        return {"device": device, "core": core, "bandwidth": self.pair.page_bytes * host.usd_per_gb_per_s / 1e9}

    def tau_s(self, prices: Prices) -> float:
        """The interval, seconds."""
        per_byte = float(prices[f"{self.pair.upper} per GiB"]) / 2**30
        return interval_s(sum(self.access(prices).values()), self.pair.page_bytes, per_byte)


def break_even(ledger: Ledger, pair: Pair, factor: float) -> Answer:
    """The interval of a pair of tiers with its band."""
    found = BreakEven(ledger, pair)
    tau, band = found.tau_s(found.prices), swing(found.tau_s, found.prices, factor)
    figures: dict[str, Any] = {
        "upper": pair.upper,
        "lower": pair.lower,
        "page_bytes": pair.page_bytes,
        "iops": found.iops,
        "latency_bound_s": pair.bound_s,
        "latency_s": None if found.point is None else found.point.latency_s,
        "cycles_per_access": found.cycles or None,
        "interval_s": tau,
        "usd_per_access_per_s": found.access(found.prices),
        "usd_per_gib": float(found.prices[f"{pair.upper} per GiB"]),
        "band": band,
    }
    if pair.host is not None:
        device_alone = found.access(found.prices)["device"]
        per_byte = Decimal(found.prices[f"{pair.upper} per GiB"]) / 2**30
        figures["classic_interval_s"] = interval_s(device_alone, pair.page_bytes, float(per_byte))
    lines = [
        (
            f"Keep a page of {pair.page_bytes:g} B in {pair.upper} when it is used more often than once in"
            f" {spoken(tau)} ({tau:.4g} s); otherwise leave it on {pair.lower}."
        ),
        f"The interval is {span(band, 's')}.",
        *_how(found),
    ]
    return Answer("cost break-even", figures, lines, ledger, CLASSIC if pair.host is None else WITH_HOST)


def _how(found: BreakEven) -> list[str]:
    """What an access takes, where a curve or the host says it."""
    lines = []
    if found.point is not None:
        bound = found.pair.bound_s
        within = "; --latency-bound allows less" if bound is None else f", within the bound of {bound * 1e6:.4g} us"
        lines.append(
            f"{found.pair.lower} gives {found.iops:.4g} reads/s at {found.point.latency_s * 1e6:.4g} us{within}."
        )
    if found.pair.host is not None:
        costs = found.access(found.prices)
        spent = ", ".join(f"{name} {usd / sum(costs.values()):.0%}" for name, usd in costs.items() if usd)
        lines.append(f"What an access costs is: {spent}.")
    return lines
