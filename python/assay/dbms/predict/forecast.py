"""The time of a demand on another device.

A run is time in which something ran, and time in which it waited. The waiting is what the device's busy time exposed:

    e = wait / busy                                    on the device that was measured
    T' = ran + busy' - min((1 - e) * busy', ran)       on the other one

`e` below 1 means that work hides a part of the I/O, and read-ahead hides it on the other device too, but never more
than there is work to hide it behind. Where the measured device's busy time is not known, half is taken to be hidden.
The band does not trust `e`: its lower end hides all of the I/O behind the work, its upper end hides none, each with the
twin's own band around it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.dbms.predict.demand import Demand
from assay.dbms.predict.device import Busy, busy

UNKNOWN_EXPOSURE = 0.5


@dataclass(frozen=True)
class Forecast:
    """Seconds of a query or of a window on another device, with the ends of the band; operations of a window."""

    name: str
    measured_s: float
    seconds: float
    low_s: float
    high_s: float
    operations: float = 0.0

    def within(self, seconds: float) -> bool:
        """Whether a time lies in the band."""
        return self.low_s <= seconds <= self.high_s


def forecast(demand: Demand, device: str) -> Forecast:
    """A demand on a device."""
    return of(demand, busy(device, demand))


def of(demand: Demand, there: Busy) -> Forecast:
    """A demand on a device that would be busy with it for so long."""
    ran = demand.wall_s - demand.wait_s
    middle = ran + there.seconds - min((1 - exposure(demand)) * there.seconds, ran)
    low = max(ran, there.seconds / (1 + there.width))
    high = ran + there.seconds * (1 + there.width)
    return Forecast(demand.name, demand.wall_s, middle, min(low, middle), max(high, middle), demand.operations)


def exposure(demand: Demand) -> float:
    """The share of the device's busy time that the run waited for."""
    if demand.busy_s is None:
        return UNKNOWN_EXPOSURE
    return min(1.0, demand.wait_s / demand.busy_s) if demand.busy_s > 0 else 1.0


@dataclass(frozen=True)
class Hit:
    """A forecast beside what was measured then."""

    forecast: Forecast
    seen_s: float

    @property
    def error(self) -> float:
        """Relative; above 0 the forecast was too long."""
        return self.forecast.seconds / self.seen_s - 1

    @property
    def inside(self) -> bool:
        """The measurement lay in the band."""
        return self.forecast.within(self.seen_s)


def against(forecasts: Sequence[Forecast], seen: Mapping[str, float]) -> list[Hit]:
    """Forecasts beside measurements of the same names."""
    return [Hit(one, seen[one.name]) for one in forecasts if one.name in seen]


def summary(hits: Sequence[Hit]) -> dict[str, float]:
    """Median of the errors without sign, share inside the bands, and the ratio of the sums."""
    if not hits:
        return {}
    return {
        "queries": float(len(hits)),
        "median_error_ratio": statistics.median(abs(hit.error) for hit in hits),
        "inside_ratio": statistics.fmean(hit.inside for hit in hits),
        "sum_ratio": math.fsum(hit.forecast.seconds for hit in hits) / math.fsum(hit.seen_s for hit in hits),
    }
