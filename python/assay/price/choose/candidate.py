"""What can be chosen: a cloud instance, or a machine of one's own, with its facts and price."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from assay import home
from assay.document.table import Table
from assay.error import did_you_mean
from assay.price.book import OLD_DAYS, Book
from assay.price.day import parse_day
from assay.price.entry import DayText, Kind
from assay.price.error import PriceError
from assay.price.order import Above0, Quantity
from assay.price.reading import read

from .workload import HOURS_PER_MONTH

GIB = 2**30


@dataclass(frozen=True)
class Candidate:
    """One type; figures of a single instance, none where nobody states them."""

    name: str
    cloud: str
    usd_per_month: float
    cores: float
    memory_bytes: float
    local_bytes: float
    read_iops: float | None
    write_iops: float | None
    volume_iops: float | None
    volume_bytes_per_s: float | None
    network_bytes_per_s: float | None
    nvme: bool
    provenance: str
    source: str
    date: str
    read_latency_ns: float | None = None
    arch: str = ""
    twin: str = ""
    twin_lent: bool = False

    def document(self) -> dict[str, Any]:
        """Its facts as results print them."""
        facts = ("cores", "memory_bytes", "local_bytes", "read_iops", "write_iops", "network_bytes_per_s")
        document: dict[str, Any] = {"name": self.name, "cloud": self.cloud, "usd_per_month_each": self.usd_per_month}
        document |= {name: getattr(self, name) for name in facts}
        return document | {"provenance": self.provenance, "source": self.source, "date": self.date}


class OwnMachine(Table):
    """A machine that the user owns or was quoted: rent per month, or a price over a lifetime."""

    name: str = Field(min_length=1)
    usd_per_month: Above0 | None = None
    price_usd: Above0 | None = None
    lifetime_months: Above0 = 60.0
    running_usd_per_month: Quantity = 0.0
    cores: Above0
    memory: Above0
    local: Quantity = 0.0
    read_iops: Above0 | None = None
    write_iops: Above0 | None = None
    network: Above0 | None = None
    read_latency: Above0 | None = None
    twin: str = ""
    source: str = Field(min_length=1)
    date: DayText
    kind: Kind

    def candidate(self) -> Candidate:
        """The machine as something to choose."""
        if (self.usd_per_month is None) == (self.price_usd is None):
            hint = "give usd_per_month, or price_usd with lifetime_months"
            raise PriceError(f"the machine `{self.name}` has no price, or two", hint)
        if self.twin and self.read_latency is not None:
            raise PriceError(f"the machine `{self.name}` has two latencies", "give read_latency or twin")
        bought = 0.0 if self.price_usd is None else self.price_usd / self.lifetime_months
        return Candidate(
            name=self.name,
            cloud="own",
            usd_per_month=(self.usd_per_month or 0.0) + bought + self.running_usd_per_month,
            cores=self.cores,
            memory_bytes=self.memory,
            local_bytes=self.local,
            read_iops=self.read_iops,
            write_iops=self.write_iops,
            volume_iops=None,
            volume_bytes_per_s=None,
            network_bytes_per_s=self.network,
            nvme=True,
            provenance="assumed",
            source=self.source,
            date=self.date,
            read_latency_ns=None if self.read_latency is None else self.read_latency * 1e9,
            twin=self.twin.removeprefix("twin:"),
        )


class Hardware(Table):
    """A file of own machines."""

    machine: list[OwnMachine] = Field(min_length=1)


def own(path: Path) -> list[Candidate]:
    """The machines of a file."""
    return [machine.candidate() for machine in read(path, Hardware, "own machines").machine]


@dataclass(frozen=True)
class PriceSnapshot:
    """Where the instances come from."""

    source: str
    date: str
    licence: str
    regions: str
    note: str


def snapshot() -> PriceSnapshot:
    """The description of the instances of the catalog."""
    document = tomllib.loads((home.catalog() / "prices" / "instances.toml").read_text(encoding="utf-8"))
    return PriceSnapshot(**{key: document[key] for key in ("source", "date", "licence", "regions", "note")})


def cloud(names: list[str], book: Book, arch: str | None = None) -> list[Candidate]:
    """The instances of some clouds, or of all where none is named. A quote `CLOUD/INSTANCE` per hour or month wins."""
    about = snapshot()
    rows = list(_rows())
    known = sorted({row["cloud"] for row in rows})
    for name in names:
        if name not in known:
            raise PriceError(f"there is no cloud `{name}` in the catalog", did_you_mean(name, known))
    kinds = {row["arch"] for row in rows}
    if arch is not None and arch not in kinds:
        raise PriceError(f"there is no architecture `{arch}` in the catalog", did_you_mean(arch, kinds))
    quoted = _quoted(book)
    chosen = [row for row in rows if not names or row["cloud"] in names]
    return [_instance(row, about, quoted) for row in chosen if arch in (None, row["arch"])]


def age_warning(book: Book) -> str | None:
    """A sentence where the snapshot is older than 90 days."""
    about = snapshot()
    age = parse_day(about.date).age_days(book.now)
    if age <= OLD_DAYS:
        return None
    return (
        f"the prices of instances are {age} days old ({about.date}); quote today's as CLOUD/INSTANCE with --quotes FILE"
    )


def _rows() -> Iterator[dict[str, str]]:
    path = home.catalog() / "prices" / "instances.csv"
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def _quoted(book: Book) -> dict[str, tuple[float, str, str]]:
    """Quotes of instances: US dollars a month, source and date."""
    found = {}
    for entry in book.quotes:
        if "/" in entry.item and entry.unit in ("hour", "month"):
            price = book.price(entry.item, entry.unit)
            hours = HOURS_PER_MONTH if entry.unit == "hour" else 1.0
            found[entry.item] = (float(price.usd) * hours, f"{entry.kind}: {entry.source}", entry.date)
    return found


def _instance(row: dict[str, str], about: PriceSnapshot, quoted: dict[str, tuple[float, str, str]]) -> Candidate:
    name = f"{row['cloud']}/{row['instance']}"
    usd, source, date = quoted.get(name) or (float(row["usd_per_hour"]) * HOURS_PER_MONTH, about.source, about.date)
    gbits = {key: _number(row[key]) for key in ("ebs_gbitps", "net_gbitps")}
    return Candidate(
        name=name,
        cloud=row["cloud"],
        usd_per_month=usd,
        cores=float(row["cores"]),
        memory_bytes=float(row["ram_gib"]) * GIB,
        local_bytes=(_number(row["local_gb"]) or 0.0) * 1e9,
        read_iops=_number(row["storage_read_iops"]),
        write_iops=_number(row["storage_write_iops"]),
        volume_iops=_number(row["ebs_iops"]),
        volume_bytes_per_s=_bytes(gbits["ebs_gbitps"]),
        network_bytes_per_s=_bytes(gbits["net_gbitps"]),
        nvme=row["storage_is_nvme"] == "1",
        provenance="datasheet",
        source=source,
        date=date,
        arch=row["arch"],
    )


def _number(text: str) -> float | None:
    return float(text) if text else None


def _bytes(gbits: float | None) -> float | None:
    return None if gbits is None else gbits * 1e9 / 8
