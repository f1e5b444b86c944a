"""Performance per cost of index runs: R from work records, as measured, and predicted for hardware by twins.

    R = P / ($S + $D + W * U * $C / T)

Measured: P and U of the record, with the prices of hardware that is named. Predicted, for an index in memory: one
operation takes the CPU time that was measured, and for each block of 256 B that it read or wrote what the twin's module
takes more than the twin of the DRAM beside it; a thread waits for memory on its CPU, so U is 1; and no more blocks pass
than the twin passes with so many threads. For an index on a drive: the CPU time, and a read or a write of the drive's
twin for each that the record counted; the CPU is free meanwhile.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from statistics import fmean
from typing import Any

from assay.error import BAD_JOB, AssayError
from assay.price.answer import Answer
from assay.price.band import Prices, swing
from assay.price.holding import Holding
from assay.price.jungle import CPU, DRAM, RATIO, hardware_usd
from assay.price.ledger import Ledger
from assay.twin.predict import Point, predict
from assay.work import folder

Json = dict[str, Any]
MODULE, DRIVE = "pmem100-128g", "p4800x-375g"
BESIDE = "twin:ddr4-2666-32g"
BLOCK_BYTES, PAGE_BYTES = 256, 4096


@dataclass(frozen=True)
class Storage:
    """Storage that R is asked for: a part with its price, and its twin."""

    holding: Holding
    twin: str
    in_memory: bool

    @property
    def name(self) -> str:
        """As tables have it."""
        return str(self.holding)


STUDIED = (
    *(Storage(Holding(MODULE, count), f"twin:{MODULE}*{count}", True) for count in (1, 4, 6)),
    Storage(Holding(DRIVE), "twin:p4800x", False),
)


@dataclass(frozen=True)
class Seen:
    """What the records of one index under one workload with so many threads say, repeats together."""

    index: str
    workload: str
    threads: int
    in_memory: bool
    rates: tuple[float, ...]
    utilisation: float
    cpu_ns: float
    reads: float
    writes: float
    emulated: bool

    @property
    def rate(self) -> float:
        """Operations per second, mean of the repeats."""
        return fmean(self.rates)


@dataclass(frozen=True)
class Reached:
    """A rate with what it takes of the CPU."""

    rate: float
    low: float
    high: float
    utilisation: float
    provenance: str


def seen(directory: Path) -> list[Seen]:
    """The runs of indexes in a result folder.

    Raises:
        AssayError: where there are none.
    """
    groups: dict[tuple[str, str, int], list[Json]] = defaultdict(list)
    for record in folder.load(directory):
        if record["kind"] == "index" and record["verdict"]["status"] != "invalid":
            parameters = record["workload"]["parameters"]
            groups[record["subject"]["name"], record["workload"]["name"], int(parameters["threads"])].append(record)
    if not groups:
        hint = "make some: assay index run --index dash-eh --workload lookup --out DIR"
        raise AssayError(f"{directory} holds no run of an index that is not invalid", hint=hint, code=BAD_JOB)
    return [_together(*key, records) for key, records in sorted(groups.items())]


def _together(index: str, workload: str, threads: int, records: Sequence[Json]) -> Seen:
    def mean(name: str, otherwise: float = 0.0) -> float:
        found = [float(record["figures"][name]["value"]) for record in records if name in record["figures"]]
        return fmean(found) if found else otherwise

    in_memory = not index.startswith("ssd-")
    names = ("blocks_read_per_op", "blocks_written_per_op") if in_memory else ("reads_per_op", "writes_per_op")
    missing = [name for name in (names[0], "cpu_utilisation", "cpu_ns_per_op") if mean(name, -1.0) < 0]
    if missing:
        what = f"the run of {index} under {workload} with {threads} threads has no {', '.join(missing)}"
        raise AssayError(what, hint="run it again; --count 0 leaves the counting pass out", code=BAD_JOB)
    return Seen(
        index,
        workload,
        threads,
        in_memory,
        tuple(float(record["figures"]["ops_per_s"]["value"]) for record in records),
        min(1.0, mean("cpu_utilisation")),
        mean("cpu_ns_per_op"),
        mean(names[0]),
        mean(names[1]),
        any(target.get("emulated", False) for record in records for target in record["targets"]),
    )


def predicted(run: Seen, twin: str) -> Reached:
    """What a run would reach on a twin's hardware; low and high by the twin's own band of latency."""
    size, fenced = (BLOCK_BYTES, True) if run.in_memory else (PAGE_BYTES, False)

    def asked(operation: str, on: str) -> Json:
        return predict(Point(on=on, operation=operation, size_bytes=size, threads=run.threads, fenced=fenced))

    waits, spread, fastest = 0.0, 0.0, float("inf")
    for operation, count in (("read", run.reads), ("write", run.writes)):
        if count <= 0:
            continue
        found = asked(operation, twin)
        beside = float(asked(operation, BESIDE)["latency_ns"]["mean"]) if run.in_memory else 0.0
        latency = float(found["latency_ns"]["mean"])
        waits += count * max(0.0, latency - beside)
        spread += count * latency * float(found["band"]["latency"])
        fastest = min(fastest, float(found["iops"]) / count)
    times = (run.cpu_ns + waits, run.cpu_ns + waits + spread, max(run.cpu_ns, run.cpu_ns + waits - spread))
    middle, low, high = (min(fastest, run.threads * 1e9 / time) for time in times)
    utilisation = 1.0 if run.in_memory else min(1.0, middle * run.cpu_ns / 1e9 / run.threads)
    return Reached(middle, low, high, utilisation, "modelled")


def measured(run: Seen) -> Reached:
    """What a run reached here."""
    provenance = "emulated" if run.emulated else "measured"
    return Reached(run.rate, min(run.rates), max(run.rates), run.utilisation, provenance)


def cost(ledger: Ledger, directory: Path, dram: Sequence[int], factor: float) -> Answer:
    """R of every run in a folder for the storage of the study and so many modules of DRAM, the best first."""
    rows: list[Json] = []
    for run in seen(directory):
        for storage in STUDIED:
            if storage.in_memory == run.in_memory:
                for reached in (measured(run), predicted(run, storage.twin)):
                    rows += [_row(ledger, run, storage, reached, modules, factor) for modules in dram]
    rows.sort(key=lambda row: (row["workload"], row["threads"], row["provenance"], row["dram_modules"], -row["r"]))
    lines = [_winner(group) for group in _groups(rows)]
    lines.append(
        "Rates that are emulated or measured are this machine's, with the price of the hardware that is named;"
        " modelled ones are what its twin leaves of them."
    )
    grid = [["workload", "threads", "rate", "DRAM", "index", "storage", "ops/s", "U", "USD", "R", "from", "to"]]
    grid += [_cells(row) for row in rows]
    return Answer("index cost", {"rows": rows}, lines, ledger, RATIO, grid)


def _row(ledger: Ledger, run: Seen, storage: Storage, reached: Reached, modules: int, factor: float) -> Json:
    items = (storage.holding.item, DRAM, CPU)
    prices = {item: ledger.usd(item, study="jungle") for item in items}
    threads = ledger.fact(ledger.book.part(CPU), "threads")
    used = Decimal(str(run.threads * reached.utilisation))

    def bottom(moved: Prices) -> Decimal:
        return hardware_usd(
            moved[storage.holding.item] * storage.holding.count, moved[DRAM] * modules, moved[CPU], used, threads
        )

    dollars = float(bottom(prices))
    band = swing(lambda moved: reached.rate / float(bottom(moved)), prices, factor)
    return {
        "index": run.index,
        "workload": run.workload,
        "threads": run.threads,
        "storage": storage.name,
        "dram_modules": modules,
        "dram_gb": modules * 32,
        "ops_per_s": reached.rate,
        "utilisation": reached.utilisation,
        "usd": dollars,
        "r": reached.rate / dollars,
        "r_low": reached.low / dollars,
        "r_high": reached.high / dollars,
        "price_band": band,
        "repeats": len(run.rates),
        "provenance": reached.provenance,
    }


def _groups(rows: Sequence[Json]) -> list[list[Json]]:
    groups: dict[tuple[Any, ...], list[Json]] = defaultdict(list)
    for row in rows:
        groups[row["workload"], row["threads"], row["provenance"], row["dram_modules"]].append(row)
    return list(groups.values())


def _winner(rows: Sequence[Json]) -> str:
    """Who has most for the dollar, and whether the spread lets that be said."""
    first = rows[0]
    where = f"{first['workload']}, {first['threads']} threads, {first['dram_gb']} GB of DRAM ({first['provenance']})"
    best = f"{first['index']} on {first['storage']}, {first['r']:.4g} ops/s per USD"
    rival = next((row for row in rows[1:] if row["index"] != first["index"]), None)
    if rival is None:
        return f"{where}: {best}; no other index was run."
    repeated = first["provenance"] == "modelled" or min(first["repeats"], rival["repeats"]) > 1
    sure = repeated and first["r_low"] > rival["r_high"]
    words = "ahead of" if sure else "not shown to be ahead of"
    return f"{where}: {best}, {words} {rival['index']} on {rival['storage']} with {rival['r']:.4g}."


def _cells(row: Json) -> list[str]:
    return [
        row["workload"],
        str(row["threads"]),
        row["provenance"],
        f"{row['dram_gb']} GB",
        row["index"],
        row["storage"],
        f"{row['ops_per_s']:.0f}",
        f"{row['utilisation']:.2f}",
        f"{row['usd']:.2f}",
        f"{row['r']:.1f}",
        f"{row['r_low']:.1f}",
        f"{row['r_high']:.1f}",
    ]
