"""The workload that a choice is made for."""

from __future__ import annotations

import itertools
from typing import Literal

from pydantic import Field, model_validator

from assay.document.table import Table
from assay.price.order import Above0, Quantity

Durability = Literal["local", "replicated", "volume"]
HOURS_PER_MONTH = 730.0


class HitPoint(Table):
    """One point of a measured curve: so much memory for pages, such a share of reads served from it."""

    memory: Quantity
    hit_ratio: float = Field(ge=0, le=1)


class Latency(Table):
    """What a user may see at most: the mean read latency, and the 99th percentile of reads that reach storage."""

    read: Above0 | None = None
    p99: Above0 | None = None

    @model_validator(mode="after")
    def _one_at_least(self) -> Latency:
        if self.read is None and self.p99 is None:
            raise ValueError("an objective needs a bound; give read, p99 or both")
        return self


class Workload(Table):
    """What must be served.

    Rates are of pages and of the whole workload. `working_set` is what reads go to, evenly, unless `hits` gives a
    measured curve. `memory` is what each instance needs besides its cache of pages. Every page write goes to storage,
    and every copy spends the CPU of its writes.
    `cycles_per_operation` were counted at `clock` on cores like these; both or neither.
    """

    name: str = "workload"
    capacity: Above0
    working_set: Quantity | None = None
    hits: list[HitPoint] = Field(default_factory=list)
    reads_per_s: Quantity
    writes_per_s: Quantity = 0.0
    page: Above0 = 4096.0
    latency: Latency | None = None
    cycles_per_operation: Above0 | None = None
    clock: Above0 | None = None
    memory: Quantity = 0.0
    durability: Durability
    copies: int = Field(1, gt=0)
    utilisation: float = Field(0.7, gt=0, le=1)
    fill: float = Field(0.8, gt=0, le=1)
    most_instances: int = Field(64, gt=0, le=10_000)
    budget_usd_per_month: Above0 | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Workload:
        if (self.cycles_per_operation is None) != (self.clock is None):
            raise ValueError("cycles_per_operation and clock belong together: cycles were counted at a clock")
        if self.durability == "replicated" and self.copies < 2:
            raise ValueError("replicated data has at least two copies; give copies = 2 or more")
        if self.durability != "replicated" and self.copies != 1:
            raise ValueError('copies are for durability = "replicated"')
        if self.working_set is not None and self.working_set > self.capacity:
            raise ValueError("the working set is larger than the data")
        if self.reads_per_s + self.writes_per_s <= 0:
            raise ValueError("a workload reads or writes; give reads_per_s or writes_per_s")
        memories = [point.memory for point in self.hits]
        if memories != sorted(memories):
            raise ValueError("the points of `hits` rise with memory")
        return self

    def hit_ratio(self, cache_bytes: float) -> float:
        """Share of reads that a cache of so many bytes serves."""
        if self.hits:
            return _between(self.hits, cache_bytes)
        touched = self.capacity if self.working_set is None else self.working_set
        return 1.0 if touched == 0 else max(0.0, min(1.0, cache_bytes / touched))


def _between(points: list[HitPoint], memory: float) -> float:
    """Interpolated between measured points; beyond the ends the nearest point counts, nothing is extrapolated."""
    if memory < points[0].memory:
        return points[0].hit_ratio * memory / points[0].memory
    for low, high in itertools.pairwise(points):
        if memory < high.memory:
            share = (memory - low.memory) / (high.memory - low.memory)
            return low.hit_ratio + share * (high.hit_ratio - low.hit_ratio)
    return points[-1].hit_ratio
