"""The five-minute rule: how often a page must be used to earn its place in the faster tier.

Classic form (Gray and Putzolu 1987; Gray and Graefe 1997):

    tau = (pages per MB / IOPS) * (price of the device / price of a MB of memory)
        = (price of an access per second) / (page * price of a byte of memory)

With the host's part (after arXiv 2511.03944), an access per second also costs a share of a core and of memory
bandwidth, and IOPS are those that the device gives within a latency bound:

    access = device / IOPS within the bound + cycles * price of a core / clock + page * price of bandwidth
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from assay.price.answer import Answer, span
from assay.price.band import Prices, swing
from assay.price.error import PriceError
from assay.price.history import spoken
from assay.price.ledger import Ledger

CLASSIC = "tau = (pages per MB / IOPS) * (device / memory per MB)"
WITH_HOST = "tau = (device / IOPS + cycles * core / clock + page * bandwidth price) / (page * memory per byte)"


def interval_s(usd_per_access_per_s: float, page_bytes: float, usd_per_byte: float) -> float:
    """The break-even interval, seconds. Prices must be of the same kind: purchase, or rent for the same time."""
    for name, amount in (("access", usd_per_access_per_s), ("page", page_bytes), ("memory", usd_per_byte)):
        if not (math.isfinite(amount) and amount > 0):
            raise PriceError(f"a break-even needs an {name} above zero, not {amount:g}", "correct that number")
    return usd_per_access_per_s / (page_bytes * usd_per_byte)


@dataclass(frozen=True)
class Point:
    """One measured load: operations per second at a latency."""

    iops: float
    latency_s: float


def usable_iops(points: Sequence[Point], bound_s: float) -> Point:
    """The fastest point within the bound; refused where none is, because nothing is extrapolated."""
    within = [point for point in points if point.latency_s <= bound_s]
    if not within:
        best = min(points, key=lambda point: point.latency_s).latency_s if points else math.nan
        hint = f"the lowest latency of the curve is {best * 1e6:.4g} us; give a larger bound, or measure smaller depths"
        raise PriceError(f"no point of the curve is within {bound_s * 1e6:.4g} us", hint)
    return max(within, key=lambda point: point.iops)


def read_curve(path: Path) -> list[Point]:
    """A file with the columns `iops` and `latency_us`."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return [Point(float(row["iops"]), float(row["latency_us"]) / 1e6) for row in csv.DictReader(file)]
    except (OSError, KeyError, TypeError, ValueError) as error:
        hint = "write a CSV file with the columns iops and latency_us, one line per load"
        raise PriceError(f"{path} is no curve of latency over load ({error})", hint) from error


@dataclass(frozen=True)
class Host:
    """What the host pays for one access: cycles of a core, and optionally memory bandwidth."""

    cpu: str
    cycles: float
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
    curve: tuple[Point, ...] = ()
    curve_source: str = ""
    host: Host | None = None


class BreakEven:
    """A pair with its facts; computes from a set of prices."""

    def __init__(self, ledger: Ledger, pair: Pair) -> None:
        self.ledger, self.pair = ledger, pair
        self.prices = {f"{pair.upper} per GiB": ledger.usd(pair.upper, "GiB"), pair.lower: ledger.usd(pair.lower)}
        self.iops = self._iops()
        self.cores = 0.0
        if pair.host is not None:
            self.prices[pair.host.cpu] = ledger.usd(pair.host.cpu)
            self.cores = self._cores(pair.host)
            for name, amount in (("cycles per access", pair.host.cycles), ("clock, Hz", pair.host.clock_hz)):
                if not amount > 0:
                    raise PriceError(f"{name} of {amount:g} cannot be", "give a number above zero")
                ledger.given(name, amount)

    def _iops(self) -> float:
        pair = self.pair
        if pair.bound_s is not None and not pair.curve:
            raise PriceError("a latency bound needs a curve", "give --curve FILE (columns iops, latency_us)")
        if pair.curve:
            bound = pair.bound_s if pair.bound_s is not None else math.inf
            point = usable_iops(pair.curve, bound)
            return self.ledger.given("IOPS within the latency bound", point.iops, pair.curve_source)
        if pair.iops is not None:
            if not pair.iops > 0:
                raise PriceError(f"{pair.iops:g} IOPS serve nobody", "give --iops above zero")
            return self.ledger.given("IOPS", pair.iops)
        return float(self.ledger.fact(self.ledger.book.part(pair.lower), "read_iops"))

    def _cores(self, host: Host) -> float:
        if host.cores is not None:
            return self.ledger.given("cores", host.cores)
        return float(self.ledger.fact(self.ledger.book.part(host.cpu), "cores"))

    def access(self, prices: Prices) -> dict[str, float]:
        """US dollars for one access per second, by what they are spent on."""
        host, device = self.pair.host, float(prices[self.pair.lower]) / self.iops
        if host is None:
            return {"device": device}
        core = float(prices[host.cpu]) / self.cores * host.cycles / host.clock_hz
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
    ]
    return Answer("cost break-even", figures, lines, ledger, CLASSIC if pair.host is None else WITH_HOST)
