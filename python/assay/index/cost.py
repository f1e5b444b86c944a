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
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from statistics import fmean
from typing import Any

from assay.error import BAD_JOB, AssayError
from assay.index.seen import PointFigures, finished, names, together, with_pool
from assay.index.winner import PROVENANCES, answers, best_places, cautions
from assay.price.answer import Answer
from assay.price.band import Prices, swing
from assay.price.holding import Holding
from assay.price.jungle import CPU, DRAM, RATIO, hardware_usd
from assay.price.ledger import Ledger
from assay.record import WorkRecord
from assay.twin.predict import Point, predict
from assay.untyped import Json

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
class Reached:
    """A rate with what it takes of the CPU."""

    rate: float
    low: float
    high: float
    utilisation: float
    provenance: str


def predicted(run: PointFigures, twin: str) -> Reached:
    """What a run would reach on a twin's hardware; low and high by the twin's own band of latency, and by the CPU times
    of the repeats."""
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
    least, most = run.cpu_span or (run.cpu_ns, run.cpu_ns)
    times = (run.cpu_ns + waits, most + waits + spread, max(least, least + waits - spread))
    # Of lookups that wait together each waits for its own reads; the CPU does one after the other.
    cpu = (run.cpu_ns, most, least)
    bounds = zip(times, cpu, strict=True)
    middle, low, high = (run.threads * 1e9 * min(1 / own, run.batch / time) for time, own in bounds)
    middle, low, high = min(fastest, middle), min(fastest, low), min(fastest, high)
    utilisation = 1.0 if run.in_memory else min(1.0, middle * run.cpu_ns / 1e9 / run.threads)
    return Reached(middle, low, high, utilisation, "modelled")


def measured(run: PointFigures) -> Reached:
    """What a run reached here."""
    provenance = "emulated" if run.emulated else "measured"
    return Reached(run.rate, min(run.rates), max(run.rates), run.utilisation, provenance)


def _on(
    runs: Sequence[PointFigures], storage: Storage, data_bytes: float, modules: int
) -> list[tuple[PointFigures, list[Reached]]]:
    """The runs that storage and DRAM have room for, with the rates that they give."""
    fitting = [run for run in runs if run.in_memory == storage.in_memory]
    if not data_bytes:
        return [(run, [measured(run), predicted(run, storage.twin)]) for run in fitting]
    fitting = [run for run in fitting if data_bytes * run.amplification <= storage.room_bytes]
    if storage.in_memory:
        return [(run, [measured(run), predicted(run, storage.twin)]) for run in fitting]
    alike: dict[tuple[Any, ...], list[PointFigures]] = defaultdict(list)
    for run in fitting:
        alike[run.name, run.workload, run.threads].append(run)
    found = []
    for group in alike.values():
        share = modules * DRAM_BYTES / (data_bytes * fmean(run.amplification for run in group))
        pooled = with_pool(group, min(1.0, share))
        found += [(pooled, [predicted(pooled, storage.twin)])] if pooled is not None else []
    return found


def cost(ledger: Ledger, inside: Sequence[Path], dram: Sequence[int], factor: float, data_bytes: float = 0.0) -> Answer:
    """R of every run in folders for the storage of the study and so many modules of DRAM, the best first.

    With bytes of data, DRAM is the pool of indexes on a drive.
    """
    rows: list[Json] = []
    whole, cut = finished(*inside)
    runs = together(whole)
    for storage in STUDIED:
        for modules in dram:
            for run, rates in _on(runs, storage, data_bytes, modules):
                rows += [_row(ledger, run, storage, reached, modules, factor) for reached in rates]
    if not rows:
        hint = "ask for less data, or run with larger pools in front of the drive"
        raise AssayError("no storage of the study has room for so much data", hint=hint, code=BAD_JOB)
    rows.sort(key=lambda row: (row["workload"], row["threads"], row["provenance"], row["dram_modules"], -row["r"]))
    lines = [*answers(rows), PROVENANCES, *cautions(runs, data_bytes), *([_left_out(cut)] if cut else [])]
    grid = [["workload", "threads", "rate", "DRAM", "index", "storage", "ops/s", "U", "USD", "R", "from", "to"]]
    grid += [_cells(row) for row in best_places(rows)]
    return Answer("index cost", {"rows": rows}, lines, ledger, RATIO, grid)


def _left_out(cut: Sequence[WorkRecord]) -> str:
    what = "1 run is" if len(cut) == 1 else f"{len(cut)} runs are"
    return f"{what} left out, as interrupted: {names(cut)}. Run it again into the same folder to have it."


def _row(ledger: Ledger, run: PointFigures, storage: Storage, reached: Reached, modules: int, factor: float) -> Json:
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
        "in_memory": run.in_memory,
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
