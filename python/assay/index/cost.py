"""Performance per cost of index runs: R from work records, as measured, and predicted for hardware by twins.

    R = P / ($S + $D + W * U * $C / T)

Measured: P and U of the record, with the prices of hardware that is named. Predicted, for an index in memory: one
operation takes the CPU time that was measured, and for each block of 256 B that it read or wrote what the twin's module
takes more than the twin of the DRAM beside it; a thread waits for memory on its CPU, so U is 1; and no more blocks pass
than the twin passes with so many threads. For an index on a drive: the CPU time, and a read or a write of the drive's
twin for each that the record counted, those of lookups that wait together at once; the CPU is free meanwhile.

With a size of the data, DRAM is what an index on a drive has for its pool: of runs with pools of several sizes, reads,
writes and CPU time are taken in proportion between the two that are nearest. Storage that the data do not fit into is
left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from statistics import fmean
from typing import Any

from assay.error import BAD_JOB, AssayError
from assay.index.job import INDEXES
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
# Bytes of a module of DRAM, and of the studied storage: what the makers call gigabytes.
DRAM_BYTES = 32e9
BYTES = {MODULE: 128e9, DRIVE: 375e9}


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

    @property
    def room_bytes(self) -> float:
        """What fits."""
        return BYTES[self.holding.item] * self.holding.count


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
    batch: int = 1
    way: str = ""
    # Of the index, what its pool holds; 1 for an index in memory, which needs none.
    share: float = 1.0
    amplification: float = 1.0

    @property
    def name(self) -> str:
        """The index, and how it was run where that was not as usual."""
        return f"{self.index} {self.way}".strip()

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
    groups: dict[tuple[str, str, int, str, int], list[Json]] = defaultdict(list)
    for record in folder.load(directory):
        ours = record["kind"] == "index" and record["subject"]["name"] in INDEXES
        if ours and record["verdict"]["status"] != "invalid":
            threads = int(record["workload"]["parameters"]["threads"])
            key = (record["subject"]["name"], record["workload"]["name"], threads, _way(record), _pool(record))
            groups[key].append(record)
    if not groups:
        hint = "make some: assay index run --index dash-eh --workload lookup --out DIR"
        raise AssayError(f"{directory} holds no run of an index that is not invalid", hint=hint, code=BAD_JOB)
    return [_together(*key[:4], records) for key, records in sorted(groups.items())]


def _pool(record: Json) -> int:
    """Bytes in front of a drive; 0 where there is none."""
    on_drive = str(record["subject"]["name"]).startswith("ssd-")
    return int(record["subject"]["settings"]["pool_bytes"]) if on_drive else 0


def _way(record: Json) -> str:
    if not _pool(record):
        return ""
    asked = record["workload"]["parameters"]
    words = [str(record["subject"]["settings"].get("io", ""))]
    words += ["split"] if asked.get("split") else []
    words += [f"{asked['batch']} together"] if asked.get("batch", 1) > 1 else []
    return " ".join(words)


def _together(index: str, workload: str, threads: int, way: str, records: Sequence[Json]) -> Seen:
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
        int(records[0]["workload"]["parameters"].get("batch", 1)),
        way,
        min(1.0, _pool(records[0]) / max(1.0, mean("used_bytes"))) if _pool(records[0]) else 1.0,
        mean("space_amplification", 1.0),
    )


def predicted(run: Seen, twin: str) -> Reached:
    """What a run would reach on a twin's hardware; low and high by the twin's own band of latency."""
    size, fenced = (BLOCK_BYTES, True) if run.in_memory else (PAGE_BYTES, False)

    def asked(operation: str, on: str) -> Json:
        depth = run.batch if operation == "read" else 1
        point = Point(on=on, operation=operation, size_bytes=size, threads=run.threads, depth=depth, fenced=fenced)
        return predict(point)

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
    # Of lookups that wait together each waits for its own reads; the CPU does one after the other.
    busy = run.threads * 1e9 / run.cpu_ns
    middle, low, high = (min(fastest, busy, run.threads * run.batch * 1e9 / time) for time in times)
    utilisation = 1.0 if run.in_memory else min(1.0, middle * run.cpu_ns / 1e9 / run.threads)
    return Reached(middle, low, high, utilisation, "modelled")


def measured(run: Seen) -> Reached:
    """What a run reached here."""
    provenance = "emulated" if run.emulated else "measured"
    return Reached(run.rate, min(run.rates), max(run.rates), run.utilisation, provenance)


def with_pool(runs: Sequence[Seen], share: float) -> Seen | None:
    """What runs that differ in their pools alone say of a pool that holds such a share of the index; none where it is
    smaller than any that was tried. A larger one than any is taken to be no better than the largest."""
    ordered = sorted(runs, key=lambda run: run.share)
    above = next((run for run in ordered if run.share >= share), ordered[-1])
    below = next((run for run in reversed(ordered) if run.share <= share), None)
    if below is None or above.share <= below.share:
        return below

    def between(low: float, high: float) -> float:
        return low + (high - low) * (share - below.share) / (above.share - below.share)

    return replace(
        below,
        share=share,
        cpu_ns=between(below.cpu_ns, above.cpu_ns),
        reads=between(below.reads, above.reads),
        writes=between(below.writes, above.writes),
    )


def _on(runs: Sequence[Seen], storage: Storage, data_bytes: float, modules: int) -> list[tuple[Seen, list[Reached]]]:
    """The runs that storage and DRAM have room for, with the rates that they give."""
    fitting = [run for run in runs if run.in_memory == storage.in_memory]
    if not data_bytes:
        return [(run, [measured(run), predicted(run, storage.twin)]) for run in fitting]
    fitting = [run for run in fitting if data_bytes * run.amplification <= storage.room_bytes]
    if storage.in_memory:
        return [(run, [measured(run), predicted(run, storage.twin)]) for run in fitting]
    alike: dict[tuple[Any, ...], list[Seen]] = defaultdict(list)
    for run in fitting:
        alike[run.name, run.workload, run.threads].append(run)
    found = []
    for group in alike.values():
        share = modules * DRAM_BYTES / (data_bytes * fmean(run.amplification for run in group))
        pooled = with_pool(group, min(1.0, share))
        found += [(pooled, [predicted(pooled, storage.twin)])] if pooled is not None else []
    return found


def cost(ledger: Ledger, directory: Path, dram: Sequence[int], factor: float, data_bytes: float = 0.0) -> Answer:
    """R of every run in a folder for the storage of the study and so many modules of DRAM, the best first.

    With bytes of data, DRAM is the pool of indexes on a drive.
    """
    rows: list[Json] = []
    runs = seen(directory)
    for storage in STUDIED:
        for modules in dram:
            for run, rates in _on(runs, storage, data_bytes, modules):
                rows += [_row(ledger, run, storage, reached, modules, factor) for reached in rates]
    if not rows:
        hint = "ask for less data, or run with larger pools in front of the drive"
        raise AssayError("no storage of the study has room for so much data", hint=hint, code=BAD_JOB)
    rows.sort(key=lambda row: (row["workload"], row["threads"], row["provenance"], row["dram_modules"], -row["r"]))
    lines = [_winner(group) for group in _groups(rows)]
    lines += _over_dram(rows)
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
        "index": run.name,
        "pool_share": run.share,
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


def _over_dram(rows: Sequence[Json]) -> list[str]:
    """Who is best at which size of DRAM, in a sentence for each workload."""
    best: dict[tuple[Any, ...], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for group in _groups(rows):
        first = group[0]
        where = (first["workload"], first["threads"], first["provenance"])
        best[where][f"{first['index']} on {first['storage']}"].append(int(first["dram_gb"]))
    lines = []
    for (workload, threads, provenance), winners in best.items():
        sizes = [f"{name} with {', '.join(map(str, sorted(gb)))} GB" for name, gb in winners.items()]
        if sum(map(len, winners.values())) > 1:
            most = "; ".join(sizes)
            lines.append(f"{workload}, {threads} threads ({provenance}), most for the dollar by size of DRAM: {most}.")
    return lines


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
