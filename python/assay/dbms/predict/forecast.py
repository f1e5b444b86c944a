"""The time of a demand on another device.

A run is a closed network of queues: `n` streams work for a while, then want the device, which serves one after the
other. Its time follows from the work `R`, the device's busy time `B` and `n` by mean value analysis (Reiser and
Lavenberg, J. ACM 27, 1980), with one queue and one delay:

    r(i) = B (1 + q(i-1));   x(i) = i / (n R + r(i));   q(i) = x(i) r(i);   T(n; R, B) = 1 / x(n)

One stream gives `R + B`, many give the larger of the two. Work is not measured but solved for: `R` is what makes
`T(n; R, B)` the time that was measured, so that on the same device the forecast is the measurement. Where the measured
device's busy time is not known, `R` is the time in which the run did not wait.

The ends of the band trust neither `n` nor the bytes: the lower one hides all of the I/O behind the work and takes all
of the waiting for the device's, the upper one hides none. Both let a cold run read `BYTES_BAND` less or more, and add
the twin's own band. Time in which the run waited for a CPU is other people's work: it may be missing there, or double.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.dbms.predict.demand import Demand
from assay.dbms.predict.device import Busy, busy

BYTES_BAND = 0.13
"""How much more or less the same cold query read when it ran again: the most but one of 24 pairs (DuckDB)."""
_STEPS = 60


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
    """A demand on a device that would be busy with it for so long. A rate that was asked for is not exceeded."""
    least = demand.wall_s if demand.paced else 0.0
    middle = max(least, network_s(demand.streams, work_s(demand, demand.streams), there.seconds))
    spread = (1 + there.width) * (1 + BYTES_BAND)
    alone, together = work_s(demand, 1), work_s(demand, demand.streams)
    ran = demand.wall_s - demand.wait_s
    low = max(least, min(alone, together, ran) - demand.queued_s, there.seconds / spread)
    # Where it is not known how busy the device was, half of the waiting may have been for something else.
    other = demand.queued_s + (demand.wait_s / 2 if demand.busy_s is None else 0.0)
    high = max(
        network_s(1, alone + other, there.seconds * spread),
        network_s(demand.streams, together + other, there.seconds * spread),
    )
    return Forecast(demand.name, demand.wall_s, middle, min(low, middle), max(high, middle), demand.operations)


def network_s(streams: int, work: float, device: float) -> float:
    """Time of `streams` that share `work` and a device that is busy for so long, s."""
    if device <= 0:
        return work
    waiting, rate = 0.0, 0.0
    for number in range(1, streams + 1):
        served = device * (1 + waiting)
        rate = number / (streams * work + served)
        waiting = rate * served
    return max(1 / rate, work, device)


def work_s(demand: Demand, streams: int) -> float:
    """The work with which the measured device gives the measured time; 0 where the device alone took longer."""
    if demand.busy_s is None:
        return demand.wall_s - demand.wait_s
    low, high = 0.0, demand.wall_s
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if network_s(streams, middle, demand.busy_s) > demand.wall_s:
            high = middle
        else:
            low = middle
    return low


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
