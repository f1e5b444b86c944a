"""Network volumes: their limits, and what so much capacity and speed of them costs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from pydantic import ConfigDict, Field

from assay import home
from assay.document.table import Table
from assay.price.fact import Fact
from assay.price.ledger import Ledger
from assay.price.reading import read


class Volume(Table):
    """One kind of volume; prices are the items CLOUD-NAME-capacity, -iops and -throughput of the price book."""

    name: str
    cloud: str
    included_iops: Fact
    included_bytes_per_s: Fact | None = None
    max_iops: Fact
    max_bytes_per_s: Fact
    max_bytes: Fact
    iops_unit_bytes: Fact
    read_latency_ns: Fact | None = None


class VolumeFile(Table):
    """The volumes of the catalog; the prices beside them are read by the book."""

    model_config = ConfigDict(extra="ignore")
    open_keys: ClassVar[bool] = True

    volume: list[Volume] = Field(min_length=1)


def catalog_volumes() -> list[Volume]:
    """The volumes of the catalog."""
    return read(home.catalog() / "prices" / "volumes.toml", VolumeFile, "volumes").volume


@dataclass(frozen=True)
class Need:
    """What one instance needs of its volumes."""

    capacity_bytes: float
    iops: float
    bytes_per_s: float


@dataclass(frozen=True)
class VolumePrices:
    """US dollars a month: per GB, per IOPS above the included, per byte/s above the included."""

    capacity: float
    iops: float
    throughput: float

    @staticmethod
    def of(volume: Volume, ledger: Ledger) -> VolumePrices:
        """The prices of a volume; throughput costs nothing where the volume has no price for it."""
        prefix = f"{volume.cloud}-{volume.name}"
        priced = volume.included_bytes_per_s is not None
        throughput = float(ledger.usd(f"{prefix}-throughput", "MiB/s-month")) / 2**20 if priced else 0.0
        capacity = float(ledger.usd(f"{prefix}-capacity", "GB-month"))
        return VolumePrices(capacity, float(ledger.usd(f"{prefix}-iops", "IOPS-month")), throughput)


def count(volume: Volume, need: Need) -> int:
    """How many volumes an instance attaches; the need spreads evenly over them."""
    limits = (
        need.capacity_bytes / float(volume.max_bytes.value),
        need.iops / float(volume.max_iops.value),
        need.bytes_per_s / float(volume.max_bytes_per_s.value),
    )
    return max(1, math.ceil(max(limits)))


def usd_per_month(volume: Volume, prices: VolumePrices, need: Need) -> float:
    """What the volumes of one instance cost a month. A GB is billed as 2^30 bytes, as the price lists do."""
    volumes = count(volume, need)
    free_iops = float(volume.included_iops.value) * volumes
    free = volume.included_bytes_per_s
    free_bytes = math.inf if free is None else float(free.value) * volumes
    return (
        need.capacity_bytes / 2**30 * prices.capacity
        + max(0.0, need.iops - free_iops) * prices.iops
        + max(0.0, need.bytes_per_s - free_bytes) * prices.throughput
    )


def io_units(volume: Volume, page_bytes: float) -> float:
    """How many I/O a page counts as."""
    return math.ceil(page_bytes / float(volume.iops_unit_bytes.value))
