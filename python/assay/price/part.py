"""Parts of a machine: what they hold and do, as far as a cost needs it."""

from __future__ import annotations

from decimal import Decimal
from functools import cache
from typing import Literal

from pydantic import Field

from assay import home
from assay.document.table import Table
from assay.error import did_you_mean
from assay.price.error import PriceError
from assay.price.fact import Fact, Provenance
from assay.price.reading import read

Family = Literal["pmem", "dram", "ssd", "disk", "cpu"]
STORAGE: tuple[Family, ...] = ("pmem", "ssd", "disk")


class Part(Table):
    """One part. A fact that no source gives is not there."""

    item: str
    title: str
    family: Family
    nominal_gb: Fact | None = None
    capacity_bytes: Fact | None = None
    read_iops: Fact | None = None
    write_iops: Fact | None = None
    read_bytes_per_s: Fact | None = None
    write_bytes_per_s: Fact | None = None
    read_latency_ns: Fact | None = None
    write_latency_ns: Fact | None = None
    rated_write_bytes: Fact | None = None
    idle_w: Fact | None = None
    active_w: Fact | None = None
    cores: Fact | None = None
    threads: Fact | None = None

    def fact(self, name: str) -> Fact:
        """A fact that must be there."""
        found = getattr(self, name)
        if not isinstance(found, Fact):
            hint = (
                f'give it in a file of quotes: [[part]] item = "{self.item}", {name} = {{ value, kind, source, date }}'
            )
            raise PriceError(f"no source gives {name} of {self.item}", hint)
        return found


class Assembly(Table):
    """What a number of equal parts did together, as a study printed it."""

    name: str
    technology: str
    item: str
    count: int = Field(gt=0)
    capacity_tb_printed: Decimal
    read_bytes_per_s: Decimal
    write_bytes_per_s: Decimal
    random_reads_per_s: Decimal
    kind: Provenance
    source: str
    date: str


class PartFile(Table):
    """The parts of the catalog, and sets of them."""

    part: list[Part] = Field(default_factory=list)
    set: list[Assembly] = Field(default_factory=list)


@cache
def catalog_parts() -> PartFile:
    """The parts of the catalog."""
    return read(home.catalog() / "prices" / "parts.toml", PartFile, "parts")


def find(item: str, parts: dict[str, Part]) -> Part:
    """A part by its name."""
    if item not in parts:
        raise PriceError(f"`{item}` is not a part of the catalog", did_you_mean(item, parts) or "quote it in a file")
    return parts[item]
