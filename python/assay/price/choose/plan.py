"""A number of instances for a workload: each limit with what is needed and what there is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from .candidate import Candidate
from .latency import LOCAL, Ask, Latencies, LatencyFigure, raised
from .volume import Need, Volume, VolumePrices, io_units
from .volume import count as volumes_of
from .volume import usd_per_month as volume_usd
from .workload import Workload

STATED_IO_BYTES = 4096.0


@dataclass(frozen=True)
class Limit:
    """One thing that can run out, over all instances. `supply` is none where nobody states it.

    A `fixed` need does not grow with the load: it is met or not.
    """

    name: str
    demand: float
    supply: float | None
    unit: str
    fixed: bool = False

    @property
    def headroom(self) -> float:
        """Supply by demand; infinite where nothing is needed, zero where nothing is known."""
        if self.demand <= 0 or (self.fixed and self.supply is not None and self.supply >= self.demand):
            return math.inf
        return 0.0 if self.supply is None else self.supply / self.demand

    def sentence(self) -> str:
        """Why it fails."""
        if self.supply is None:
            return f"no source states its {self.name}"
        return f"{self.name}: {_amount(self.demand, self.unit)} needed, {_amount(self.supply, self.unit)} there"


def _amount(value: float, unit: str) -> str:
    """Bytes as people say them, other amounts with their unit."""
    if unit.startswith("B"):
        for prefix, size in (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6)):
            if value >= size:
                return f"{value / size:.4g} {prefix}{unit}"
    return f"{value:.4g} {unit}".rstrip()


@dataclass(frozen=True)
class FleetPlan:
    """So many instances of a candidate, with a volume or without."""

    candidate: Candidate
    instances: int
    usd_per_month: float
    volume: str | None
    volumes_each: int
    limits: tuple[Limit, ...]
    hit_ratio: float
    read_latency_ns: float | None
    latency: LatencyFigure
    latency_bound_ns: float | None
    p99_bound_ns: float | None = None

    @property
    def name(self) -> str:
        """How it is called."""
        beside = f" + {self.volume}" if self.volume else ""
        return f"{self.candidate.name}{beside}"

    @property
    def headroom(self) -> float:
        """How far the load can grow: the least of all limits."""
        return min(limit.headroom for limit in self.limits)

    @property
    def binding(self) -> Limit:
        """The limit that runs out first."""
        return min(self.limits, key=lambda limit: limit.headroom)

    @property
    def latency_met(self) -> bool:
        """Whether the objective is met; an unknown latency never is."""
        return all(value is not None and value <= bound for _, value, bound, _ in self._objectives())

    @property
    def latency_sure(self) -> bool:
        """Whether it is met even at the upper end of the band."""
        return all(value is not None and value * (1 + band) <= bound for _, value, bound, band in self._objectives())

    @property
    def read_p99_ns(self) -> float | None:
        """Of reads that reach storage; nothing where none does."""
        return 0.0 if self.hit_ratio >= 1 else self.latency.p99_ns

    def _objectives(self) -> list[tuple[str, float | None, float, float]]:
        """Name, value, bound and relative band of what was asked for."""
        mean, tail = self.latency.band or 0.0, self.latency.tail_band or 0.0
        asked = [
            ("on average", self.read_latency_ns, self.latency_bound_ns, mean),
            ("at p99 of reads from storage", self.read_p99_ns, self.p99_bound_ns, tail),
        ]
        return [(name, value, bound, band) for name, value, bound, band in asked if bound is not None]

    @property
    def feasible(self) -> bool:
        """Whether every limit and the objective hold."""
        return self.headroom >= 1 and self.latency_met

    def failure(self) -> str:
        """Why it is not feasible."""
        if self.headroom < 1:
            return self.binding.sentence()
        for name, value, bound, _ in self._objectives():
            if value is None:
                return f"no source states the latency of {self.volume or 'its storage'} {name}, and an objective is set"
            if value > bound:
                return f"latency: {value / 1e3:.4g} us {name}, {bound / 1e3:.4g} us wanted"
        return ""

    def document(self) -> dict[str, Any]:
        """As results print it."""
        return {
            "name": self.name,
            "instances": self.instances,
            "usd_per_month": self.usd_per_month,
            "headroom": None if math.isinf(self.headroom) else self.headroom,
            "binding_limit": self.binding.name,
            "limits": [
                {"name": one.name, "demand": one.demand, "supply": one.supply, "unit": one.unit} for one in self.limits
            ],
            "cache_hit_ratio": self.hit_ratio,
            "read_latency_ns": self.read_latency_ns,
            "read_p99_ns": self.read_p99_ns,
            "latency_met_at_the_bands_end": self.latency_sure,
            "latency": self.latency.document(),
            "volume": self.volume,
            "volumes_each": self.volumes_each,
            "instance": self.candidate.document(),
        }


class Planner:
    """Plans for one workload."""

    def __init__(self, workload: Workload, latencies: Latencies) -> None:
        self.workload = workload
        self.latencies = latencies

    def best(self, candidate: Candidate, volume: Volume | None = None, prices: VolumePrices | None = None) -> FleetPlan:
        """The cheapest number of instances that serves it; where none does, the plan with the most that is allowed.

        More instances only ever raise the supply and the share of reads that memory serves, so the fewest that serve
        are found by bisection. Without volumes they are the cheapest too; with volumes, more instances may pay by
        keeping reads off them, until the instances alone cost more than the best so far.
        """
        best = self._fewest(candidate, volume, prices)
        for instances in range(best.instances + 1, self.workload.most_instances + 1):
            if candidate.usd_per_month * instances >= best.usd_per_month:
                break
            best = min(best, self.plan(candidate, instances, volume, prices), key=lambda plan: plan.usd_per_month)
        return best

    def _fewest(self, candidate: Candidate, volume: Volume | None, prices: VolumePrices | None) -> FleetPlan:
        most = self.workload.most_instances
        low = self.workload.copies
        last = self.plan(candidate, most, volume, prices)
        if not last.feasible:
            return last
        high = most
        while low < high:
            middle = (low + high) // 2
            if self.plan(candidate, middle, volume, prices).feasible:
                high = middle
            else:
                low = middle + 1
        return self.plan(candidate, high, volume, prices)

    def plan(
        self, candidate: Candidate, instances: int, volume: Volume | None = None, prices: VolumePrices | None = None
    ) -> FleetPlan:
        """The plan with a given number of instances."""
        work = self.workload
        cache = instances * max(0.0, candidate.memory_bytes - work.memory) / work.copies
        hits = work.hit_ratio(cache)
        reads, writes = work.reads_per_s * (1 - hits), work.writes_per_s * work.copies
        limits = [*self._host(candidate, instances), *self._storage(candidate, instances, volume, reads, writes)]
        usd, each = candidate.usd_per_month * instances, 0
        if volume is not None and prices is not None:
            need = self._need(volume, instances, reads, writes)
            usd += volume_usd(volume, prices, need) * instances
            each = volumes_of(volume, need)
        figure = self._latency_figure(candidate, volume, reads, writes, self._busy(limits))
        mean = 0.0 if hits >= 1 else None if figure.value_ns is None else (1 - hits) * figure.value_ns
        wanted = work.latency
        bound = None if wanted is None or wanted.read is None else wanted.read * 1e9
        p99 = None if wanted is None or wanted.p99 is None else wanted.p99 * 1e9
        name = None if volume is None else volume.name
        return FleetPlan(candidate, instances, usd, name, each, tuple(limits), hits, mean, figure, bound, p99)

    def _host(self, candidate: Candidate, instances: int) -> list[Limit]:
        work = self.workload
        limits = [Limit("memory of an instance", work.memory, candidate.memory_bytes, "B", fixed=True)]
        if work.cycles_per_operation is not None and work.clock is not None:
            done = work.reads_per_s + work.writes_per_s * work.copies
            cores = done * work.cycles_per_operation / work.clock
            limits.append(Limit("cores", cores, instances * candidate.cores * work.utilisation, "cores"))
        if work.copies > 1:
            traffic = work.writes_per_s * work.page * (work.copies - 1)
            network = candidate.network_bytes_per_s
            supply = None if network is None else network * instances * work.utilisation
            limits.append(Limit("network for copies", traffic, supply, "B/s"))
        return limits

    def _storage(
        self, candidate: Candidate, instances: int, volume: Volume | None, reads: float, writes: float
    ) -> list[Limit]:
        work = self.workload
        if volume is not None:
            return self._attached(candidate, instances, volume, reads, writes)
        data = work.capacity * work.copies
        ios = math.ceil(work.page / STATED_IO_BYTES)
        limits = [Limit("local storage", data, instances * candidate.local_bytes * work.fill, "B")]
        stated = (
            ("read IOPS of local storage", reads, candidate.read_iops),
            ("write IOPS of local storage", writes, candidate.write_iops),
        )
        for name, rate, iops in stated:
            supply = None if iops is None else iops * instances * work.utilisation
            limits.append(Limit(name, rate * ios, supply, "IOPS"))
        if candidate.read_iops is not None and candidate.write_iops is not None:
            drives = ios * (reads / candidate.read_iops + writes / candidate.write_iops)
            limits.append(Limit("time of local storage for reads and writes", drives, instances * work.utilisation, ""))
        return limits

    def _attached(
        self, candidate: Candidate, instances: int, volume: Volume, reads: float, writes: float
    ) -> list[Limit]:
        """Volumes are bought to measure; what limits them is the instance."""
        work = self.workload
        need = self._need(volume, instances, reads, writes)
        iops, speed = candidate.volume_iops, candidate.volume_bytes_per_s
        usable = instances * work.utilisation
        return [
            Limit("I/O rate to volumes", need.iops * usable, _times(iops, usable), "IOPS"),
            Limit("bandwidth to volumes", need.bytes_per_s * usable, _times(speed, usable), "B/s"),
        ]

    def _need(self, volume: Volume, instances: int, reads: float, writes: float) -> Need:
        """What each instance needs of its volumes, with the room that the workload asks for."""
        work = self.workload
        rate = (reads + writes) / instances / work.utilisation
        units = io_units(volume, work.page)
        return Need(work.capacity / instances / work.fill, rate * units, rate * work.page)

    def _busy(self, limits: list[Limit]) -> float:
        """The share of the device's time that is in use."""
        storage = [limit for limit in limits if limit.name.startswith(("read", "write", "I/O", "time"))]
        shares = [1 / limit.headroom for limit in storage if 0 < limit.headroom < math.inf]
        return min(1.0, max(shares, default=0.0) * self.workload.utilisation)

    def _latency_figure(
        self, candidate: Candidate, volume: Volume | None, reads: float, writes: float, busy: float
    ) -> LatencyFigure:
        """Of one read from storage under this load."""
        share = reads / (reads + writes) if reads + writes > 0 else 1.0
        page = self.workload.page
        if volume is not None:
            return self.latencies.under(Ask(volume.name, "", False, page, busy, share))
        if candidate.read_latency_ns is not None:
            stated = LatencyFigure(candidate.read_latency_ns, "assumed", candidate.source, candidate.date)
            return raised(stated, busy)
        device = candidate.name if candidate.cloud == "own" else LOCAL
        return self.latencies.under(Ask(device, candidate.twin, candidate.twin_lent, page, busy, share))


def _times(amount: float | None, factor: float) -> float | None:
    return None if amount is None else amount * factor
