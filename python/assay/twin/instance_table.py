"""What was measured of the local drives of cloud instances, and what their vendors state, as the catalog ships it."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from assay.home import catalog

MEASURED = Path("published/cloud-io-2026-06.csv")
STATED = Path("published/instance-drives.csv")

# Families of which a row is a single drive of the instance; of the others it is the whole instance.
_ONE_DRIVE = ("i3", "i3en", "i4i", "i4g", "im4gn", "is4gen")
# Writes of 4 KiB a second of an i4i.4xlarge, collected: two measurements, of which one is cited in the table.
COLLECTED = (94_000.0, 112_000.0)
_COLLECTED_OF = "i4i.4xlarge"
# Of the residuals of sizes that were left out, this share lies within the band.
COVERED = 0.9
RATES = ("read_iops", "read_bytes_per_s", "write_iops", "write_bytes_per_s")


@dataclass(frozen=True)
class Rates:
    """Of one drive, a second: reads and writes of 4 KiB, and bytes in order. Writes are those of a fresh drive."""

    read_iops: float
    read_bytes_per_s: float
    write_iops: float
    write_bytes_per_s: float

    @property
    def ratio(self) -> float:
        """Bytes written in order over those written at random."""
        return self.write_bytes_per_s / (4096.0 * self.write_iops)


@dataclass(frozen=True)
class Instance:
    """A type of instance; `row` names the row of the table that its drives' rates come from."""

    cloud: str
    name: str
    vcpus: float
    drives: int
    local_bytes: float
    row: str
    each: Rates
    stated_reads: float | None

    @property
    def family(self) -> str:
        """Sizes of one family have drives of one kind."""
        return self.name.partition(".")[0] if self.cloud == "aws" else _family(self.name)

    @property
    def twin(self) -> str:
        """Name of its twin."""
        return twin_name(self.name)

    @property
    def is_seen(self) -> bool:
        """Its own drives were measured, and not those of another size."""
        return self.row.removeprefix("Standard_") == self.name or self.row.endswith(".ALL")


def twin_name(instance: str) -> str:
    """Name of the twin of an instance."""
    return instance.lower().replace(".", "-").replace("_", "-")


def _family(name: str) -> str:
    """`L16as_v4` is one of `Las_v4`."""
    return "".join(part for part in name if not part.isdigit()) + name[-1]


@cache
def instances() -> tuple[Instance, ...]:
    """Every instance whose drives, or those of a sibling, are in the table."""
    measured = {row["type"]: row for row in _read(MEASURED)}
    found = (_instance(row, measured) for row in _read(STATED))
    return tuple(one for one in found if one is not None)


def _read(path: Path) -> Iterator[dict[str, str]]:
    with (catalog() / path).open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(line for line in file if not line.startswith("#"))


def _instance(stated: Mapping[str, str], measured: Mapping[str, Mapping[str, str]]) -> Instance | None:
    name, drives = stated["instance"], int(stated["drives"])
    family = name.partition(".")[0]
    # A family's largest size is two of the one before it.
    others = (f"Standard_{name}", f"{family}.ALL", f"{family}.24xlarge")
    row = next((word for word in (name, *others) if word in measured), None)
    if row is None:
        return None
    one_drive = family in _ONE_DRIVE
    of = 1 if one_drive else drives // 2 if row != name and row.endswith(".24xlarge") else drives
    rates = Rates(**{key: float(measured[row][key]) / of for key in RATES})
    reads = float(stated["read_iops"]) / drives if stated["read_iops"] else None
    local = float(stated["local_gb"]) * 1e9
    return Instance(stated["cloud"], name, float(stated["vcpus"]), drives, local, row, rates, reads)


@cache
def amplification(family: str) -> float:
    """Bytes programmed per byte of a random write once the free blocks are used up, of a family.

    Sizes of a family share drives, and the ratio of bytes written in order and at random is theirs where neither is cut
    by what the vendor grants: the smallest of the family. On the one drive of which collected writes are known they are
    so much of the fresh ones; that share is taken for all.
    """
    ratio = min(one.each.ratio for one in instances() if one.family == family)
    return max(ratio, 1.0) / collected_share()


@cache
def collected_share() -> float:
    """Writes of a collected drive over those of a fresh one."""
    fresh = next(one.each.write_iops for one in instances() if one.name == _COLLECTED_OF)
    return math.sqrt(COLLECTED[0] * COLLECTED[1]) / fresh


@cache
def misses() -> tuple[float, ...]:
    """How far rates that are taken from the sizes beside are off: logarithms without their signs, in order."""
    return tuple(sorted(abs(miss) for _, miss in left_out()))


def left_out() -> Iterator[tuple[str, float]]:
    """Each rate of each size where it is taken from the sizes beside it in its family: the family, and the miss.

    A neighbour is scaled by what the vendor states of both, or by capacity where nothing is stated: both go by drive.
    """
    for family in sorted({one.family for one in instances()}):
        sizes = sorted((one for one in instances() if one.family == family and _own(one)), key=lambda one: one.vcpus)
        for place, one in enumerate(sizes):
            beside = sizes[max(place - 1, 0) : place] + sizes[place + 1 : place + 2]
            yield from ((family, _miss(one, beside, rate)) for rate in RATES if beside)


def _own(one: Instance) -> bool:
    return one.is_seen and not one.row.endswith(".ALL")


def _miss(one: Instance, beside: list[Instance], rate: str) -> float:
    guesses = [math.log(getattr(other.each, rate) * _scale(one, other)) for other in beside]
    return sum(guesses) / len(guesses) - math.log(getattr(one.each, rate))


def _scale(one: Instance, other: Instance) -> float:
    if one.stated_reads and other.stated_reads:
        return one.stated_reads / other.stated_reads
    return (one.local_bytes / one.drives) / (other.local_bytes / other.drives)


def width() -> float:
    """Half-width that holds nine of ten rates of sizes that were left out (split conformal prediction)."""
    rank = math.ceil(COVERED * (len(misses()) + 1))
    return math.expm1(misses()[min(rank, len(misses())) - 1])
