"""What a sweep on twins says: throughput, and throughput per dollar, by number of modules and threads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from assay.index.cost import DRIVE, MODULE
from assay.price.book import open_book
from assay.price.jungle import CPU, DRAM, DRAM_MODULES, STUDY, hardware_usd
from assay.price.ledger import Ledger
from assay.record import WorkRecord
from assay.results import way
from assay.target import names
from assay.untyped import Json

# What the study paid for each of a twin's devices.
ITEMS = {"pmem100-128g": MODULE, "p4800x": DRIVE}


@dataclass(frozen=True)
class PlayedIndex:
    """One run on a twin: rates with their band, and the same by the dollar where there is a price."""

    index: str
    workload: str
    threads: int
    on: str
    devices: int
    rate: float
    low: float
    high: float
    usd: float | None
    bound_by: str
    status: str

    @property
    def per_dollar(self) -> float | None:
        """Operations a second and US dollar of the study."""
        return None if self.usd is None else self.rate / self.usd


def played(records: Sequence[WorkRecord]) -> list[PlayedIndex]:
    """The runs of a sweep on twins."""
    ledger = Ledger(open_book())
    return [_played(record, ledger) for record in records]


def _played(record: WorkRecord, ledger: Ledger) -> PlayedIndex:
    figure, asked = record["figures"]["ops_per_s"], record["workload"]["parameters"]
    value, band = float(figure["value"]), figure.get("band") or {}
    on, settings = str(record["targets"][0]["target"]), record["subject"]["settings"]
    target = names.target(on)
    return PlayedIndex(
        index=" ".join([record["subject"]["name"], *way.words(record)]),
        workload=f"{record['workload']['name']} {asked['distribution']}",
        threads=int(asked["threads"]),
        on=on,
        devices=names.devices(target),
        rate=value,
        low=float(band.get("low", value)),
        high=float(band.get("high", value)),
        usd=_usd(target, record, ledger),
        bound_by=str(settings.get("bound_by", "")),
        status=str(record["verdict"]["status"]),
    )


def _usd(target: Json, record: WorkRecord, ledger: Ledger) -> float | None:
    """What the study paid for storage, six modules of DRAM and the threads that were busy."""
    item = ITEMS.get(str(target.get("twin", {}).get("name")))
    if item is None:
        return None
    prices = {name: ledger.usd(name, study=STUDY) for name in (item, DRAM, CPU)}
    busy = float(record["figures"]["cpu_utilisation"]["value"]) * int(record["workload"]["parameters"]["threads"])
    threads = ledger.fact(ledger.book.part(CPU), "threads")
    storage = prices[item] * names.devices(target)
    return float(hardware_usd(storage, prices[DRAM] * DRAM_MODULES, prices[CPU], Decimal(str(busy)), threads))


def answers(runs: Sequence[PlayedIndex]) -> list[str]:
    """Whether modules have to be interleaved, and what four give against six: a sentence for each index that was run on
    several numbers of modules, at the most threads."""
    lines = []
    for index in dict.fromkeys(run.index for run in runs):
        own = [run for run in runs if run.index == index]
        most = max(run.threads for run in own)
        by: dict[str, dict[int, PlayedIndex]] = defaultdict(dict)
        for run in (run for run in own if run.threads == most):
            by[run.workload][run.devices] = run
        counts = sorted({count for each in by.values() for count in each})
        pairs = [(counts[0], counts[-1]), *((4, 6) for _ in range(1) if {4, 6} < set(counts))]
        if len(counts) > 1:
            told = [_against(by, less, more) for less, more in dict.fromkeys(pairs)]
            lines.append(f"{index}, {most} threads: {'; '.join(told)}.")
    return lines


def _against(by: dict[str, dict[int, PlayedIndex]], less: int, more: int) -> str:
    both = [(each[less], each[more]) for each in by.values() if {less, more} <= set(each)]
    rates = [there.rate / here.rate for here, there in both]
    ahead = sum(there.low > here.high for here, there in both)
    told = f"{more} modules give {_times(rates)} what {less} give{'s' if less == 1 else ''}"
    told += f" (beyond both bands in {ahead} of {len(both)} workloads)"
    dollars = [there.per_dollar / here.per_dollar for here, there in both if here.per_dollar and there.per_dollar]
    return told + (f", and {_times(dollars)} as much for a dollar" if dollars else "")


def _times(ratios: Sequence[float]) -> str:
    low, high = min(ratios), max(ratios)
    return f"{low:.2f} times" if f"{low:.2f}" == f"{high:.2f}" else f"{low:.2f} to {high:.2f} times"
