"""Whether Assay and fio see the same device: paired turns in random order on the same file, past the page cache.

Closed loops of 4 KiB at depths 1 to 128. Both draw offsets independently, submit one operation at a time, take all
completions that are there, and count latency from when an operation is handed over until its completion is seen. A
durable write is a write and its `fdatasync`: in flight are then as many blocking threads, because fio's asynchronous
syncs do not wait for the write before them. What both time alike there is the sync itself.
"""

import random
import statistics
from collections.abc import Iterator
from dataclasses import dataclass

from assay.bench import pairs, process
from assay.bench.prepared import folder_job, prepared
from assay.record import Record
from assay.untyped import Json

Figures = dict[str, float]

FILE_BYTES = 256 << 20
SIZE = 4096
DEPTHS = (1, 8, 32, 128)
RAMP_S = 0.25
"""Load before either counts: queues fill, and what the preparation has left to the drive is over."""
CLOSE = 0.03
"""Distance of the ratio from 1 that half of the cells may have at most."""
FAR = 0.10
"""Distance that no cell may have without an explanation."""
ALWAYS_BUSY = 0.9
"""Share of the time on a CPU from which a thread, and not the device, sets the pace."""
_NAMES = {"assay": "Assay", "fio": "fio"}
UNITS = {"ops_per_s": "ops/s", "mean_ns": "ns", "p50_ns": "ns", "p99_ns": "ns"}


@dataclass(frozen=True)
class AgreementCell:
    """One load that both run. `threads` block, or one thread keeps `depth` in flight."""

    operation: str
    path: str
    engine: str
    threads: int
    depth: int
    durable: bool

    @property
    def name(self) -> str:
        """As it is shown."""
        what = "write+fdatasync" if self.durable else self.operation
        return f"{what}, {self.engine}, {self.threads * self.depth} in flight"

    def assay(self) -> Json:
        """The class of a job."""
        durability = {"durability": {"kind": "fdatasync", "every": 1}} if self.durable else {}
        return {
            "path": {"kind": self.path, "direct": True},
            "operation": {"kind": self.operation},
            "pattern": {"kind": "uniform"},
            "size": SIZE,
            "threads": self.threads,
            "depth": self.depth,
        } | durability

    def fio(self, file: str, seconds: float) -> Json:
        """The same for fio."""
        return {
            "name": "load",
            "filename": file.replace(":", "\\:"),
            "size": FILE_BYTES,
            "rw": f"rand{self.operation}",
            "bs": SIZE,
            "ioengine": self.engine,
            "iodepth": self.depth,
            "iodepth_batch_complete_max": self.depth,
            "numjobs": self.threads,
            "group_reporting": 1,
            "direct": 1,
            "norandommap": 1,
            "randrepeat": 0,
            "thread": 1,
            "lat_percentiles": 1,
            "time_based": 1,
            "runtime": f"{round(seconds * 1000)}ms",
            "ramp_time": f"{round(RAMP_S * 1000)}ms",
        } | ({"fdatasync": 1} if self.durable else {})


def cells() -> list[AgreementCell]:
    """Every cell."""
    found = []
    for operation in ("read", "write"):
        found.append(AgreementCell(operation, "pread", "psync", 1, 1, durable=False))
        found += [AgreementCell(operation, "io_uring", "io_uring", 1, depth, durable=False) for depth in DEPTHS]
    return found + [AgreementCell("write", "pread", "psync", threads, 1, durable=True) for threads in DEPTHS]


def measure(repeats: int, seconds: float, folder: str, seed: int) -> Json:
    """All cells `repeats` times, in an order drawn anew for each turn, as is who goes first."""
    drawn = random.Random(seed)  # noqa: S311  An order that can be repeated is wanted.
    every = cells()
    keeper = folder_job(folder, every[0].assay(), FILE_BYTES, seconds, "bypassed")
    results: dict[AgreementCell, list[tuple[Figures, Figures]]] = {cell: [] for cell in every}
    with prepared(keeper) as files:
        shared = {"scratch": keeper["scratch"], "keep_scratch": True}
        for _ in range(repeats):
            for cell in drawn.sample(every, len(every)):
                job = folder_job(folder, cell.assay(), FILE_BYTES, seconds, "bypassed") | shared
                job["window"]["warmup_s"] = RAMP_S
                results[cell].append(_pair(cell, job, str(files["data"]), seconds, drawn.random() < 0.5))
    points = [judged(cell, found) for cell, found in results.items()]
    return {
        "bench": "agree",
        "points": points,
        "summary": summary(points),
        "repeats": repeats,
        "seconds": seconds,
        "seed": seed,
        "file_bytes": FILE_BYTES,
        "fio_version": process.fio_version(),
    }


def _pair(cell: AgreementCell, job: Json, file: str, seconds: float, first: bool) -> tuple[Figures, Figures]:
    if first:
        ours = _by_assay(cell, job)
        return ours, _by_fio(cell, file, seconds)
    theirs = _by_fio(cell, file, seconds)
    return _by_assay(cell, job), theirs


def _by_assay(cell: AgreementCell, job: Json) -> Figures:
    record = process.assayer(job)[0]
    return by_assay(cell, record) | cost_of_assay(cell, record)


def _by_fio(cell: AgreementCell, file: str, seconds: float) -> Figures:
    job = process.fio(cell.fio(file, seconds))[0]
    return by_fio(cell, job) | cost_of_fio(cell, job)


def by_assay(cell: AgreementCell, record: Record) -> Figures:
    """Figures of a record. Percentiles of a durable write are those of its sync."""
    found = record["classes"][0]
    spread = (found["flush"] if cell.durable else None) or found["service"]
    return {
        "ops_per_s": found["ops_rate"]["value"],
        "mean_ns": found["service"]["mean_ns"],
        "p50_ns": spread["p50_ns"],
        "p99_ns": spread["p99_ns"],
    }


def by_fio(cell: AgreementCell, job: Json) -> Figures:
    """Figures of fio's report. The mean of a durable write is that of the write and of the sync together."""
    found = job[cell.operation]
    spread = job["sync"]["lat_ns"] if cell.durable else found["lat_ns"]
    sync_ns = job["sync"]["lat_ns"]["mean"] if cell.durable else 0.0
    return {
        "ops_per_s": found["iops"],
        "mean_ns": found["lat_ns"]["mean"] + sync_ns,
        "p50_ns": spread["percentile"]["50.000000"],
        "p99_ns": spread["percentile"]["99.000000"],
    }


def cost_of_assay(cell: AgreementCell, record: Record) -> Figures:
    """Share of the window that its threads were on a CPU, and CPU time of an operation, ns."""
    found = record["classes"][0]
    cpu_s = found["cpu"]["user_s"]["value"] + found["cpu"]["kernel_s"]["value"]
    per_s = cpu_s / record["window"]["measured_s"]
    return {"cpu_share": per_s / cell.threads, "cpu_ns": per_s / max(found["ops_rate"]["value"], 1e-9) * 1e9}


def cost_of_fio(cell: AgreementCell, job: Json) -> Figures:
    """The same of fio, which gives shares of the mean thread."""
    share = (job["usr_cpu"] + job["sys_cpu"]) / 100
    return {"cpu_share": share, "cpu_ns": share * cell.threads / max(job[cell.operation]["iops"], 1e-9) * 1e9}


def judged(cell: AgreementCell, found: list[tuple[Figures, Figures]]) -> Json:
    """Ratios of a cell, and those that differ by more than chance and by more than they may."""
    figures = {
        name: pairs.compared([ours[name] for ours, _ in found], [theirs[name] for _, theirs in found], unit)
        for name, unit in UNITS.items()
    }
    sides = {"assay": [ours for ours, _ in found], "fio": [theirs for _, theirs in found]}
    costs = {name: _cost(side) for name, side in sides.items()}
    return {"cell": cell.name, "figures": figures, "differs": list(_differing(figures)), "costs": costs}


def _cost(side: list[Figures]) -> Figures:
    """Medians over the turns; in flight by Little's law."""
    in_flight = [one["ops_per_s"] * one["mean_ns"] / 1e9 for one in side]
    shares, times_ns = [one["cpu_share"] for one in side], [one["cpu_ns"] for one in side]
    found = {"in_flight": in_flight, "cpu_share": shares, "cpu_ns": times_ns}
    return {name: statistics.median(values) for name, values in found.items()}


def _differing(figures: dict[str, Json]) -> Iterator[str]:
    for name, figure in figures.items():
        low, high = figure["ratio_low"], figure["ratio_high"]
        apart = low is not None and not low <= 1 <= high
        if apart and abs(figure["ratio"] - 1) > FAR:
            yield name


def _wide(figure: Json) -> bool:
    """An interval that would hide a difference of the size that is looked for, to either side."""
    low, high = figure["ratio_low"], figure["ratio_high"]
    return low is None or (low < 1 - FAR and high > 1 + FAR)


def summary(points: list[Json]) -> Json:
    """For each figure: the median over the cells of the ratio's distance from 1, and the cell where it is largest."""
    found = {}
    for name in UNITS:
        apart = {point["cell"]: abs(point["figures"][name]["ratio"] - 1) for point in points}
        worst = max(apart, key=lambda cell: apart[cell])
        found[name] = {
            "median": statistics.median(apart.values()),
            "worst": apart[worst],
            "worst_cell": worst,
            "close": statistics.median(apart.values()) <= CLOSE,
        }
    return found


def words(result: Json) -> str:
    """What the table amounts to."""
    lines = [
        f"{name}: {found['median']:.1%} apart at the median of the cells "
        f"({'within' if found['close'] else 'beyond'} {CLOSE:.0%}), "
        f"at most {found['worst']:.1%} ({found['worst_cell']})"
        for name, found in result["summary"].items()
    ]
    differing = [f"{point['cell']}: {', '.join(point['differs'])}" for point in result["points"] if point["differs"]]
    known = "; ".join(differing) or "nothing"
    lines.append(f"differs by more than {FAR:.0%} and by more than chance: {known}")
    lines += [_told(point) for point in result["points"] if point["differs"]]
    untold = sum(_wide(figure) for point in result["points"] for figure in point["figures"].values())
    if untold:
        lines.append(f"{untold} intervals reach beyond {FAR:.0%} to both sides: take more pairs, on a quieter machine")
    lines.append(
        f"{result['fio_version']}; {result['repeats']} pairs of {result['seconds']:g} s, seed {result['seed']}"
    )
    return "\n".join(lines)


def _told(point: Json) -> str:
    """What both did in a cell where they differ: who is always on a CPU is measured rather than the device."""
    told = {
        name: f"{_NAMES[name]} had {cost['in_flight']:.3g} in flight and its threads on a CPU for "
        f"{cost['cpu_share']:.0%} of the time, {cost['cpu_ns'] / 1e3:.3g} us an operation"
        for name, cost in point["costs"].items()
    }
    busy = [_NAMES[name] for name, cost in point["costs"].items() if cost["cpu_share"] >= ALWAYS_BUSY]
    bound = f"; the CPU set the pace of {' and '.join(busy)}" if busy else ""
    return f"  {point['cell']}: {'; '.join(told.values())}{bound}"
