"""CPU cycles per operation and throughput of each path beside the same engine of fio's, on the same file.

CPU is counted for both alike: that of the whole process, from the machine's counters or as user and kernel time times
the frequency of the time stamp counter. What starting and preparing cost is taken out by difference: each is run for
a short and for a long time, and only what lies between is divided by the operations between.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from assay.bench import pairs, process
from assay.bench.prepared import folder_job, prepared
from assay.untyped import Json

FILE_BYTES = 128 << 20
SIZE = 4096
SHORT_S = 0.5


@dataclass(frozen=True)
class EnginePair:
    """One comparison: an engine, its depth, and whether the page cache is bypassed."""

    path: str
    engine: str
    depth: int
    direct: bool

    def assay(self) -> Json:
        """The class of a job."""
        return {
            "path": {"kind": self.path, "direct": self.direct} | ({} if self.direct else {"advice": "random"}),
            "operation": {"kind": "read"},
            "pattern": {"kind": "uniform"},
            "size": SIZE,
            "depth": self.depth,
        }

    def fio(self, file: str, seconds: float) -> Json:
        """The same for fio. The kernel gets the same hint by its default."""
        return {
            "name": "load",
            "filename": file.replace(":", "\\:"),
            "size": FILE_BYTES,
            "rw": "randread",
            "bs": SIZE,
            "ioengine": self.engine,
            "iodepth": self.depth,
            "direct": int(self.direct),
            "invalidate": 0,
            "norandommap": 1,
            "thread": 1,
            "time_based": 1,
            "runtime": f"{round(seconds * 1000)}ms",
        }


POINTS = [
    EnginePair(path, engine, depth, direct)
    for direct, (path, engine, depth) in itertools.product(
        (False, True),
        [
            ("pread", "psync", 1),
            ("libaio", "libaio", 1),
            ("libaio", "libaio", 32),
            ("io_uring", "io_uring", 1),
            ("io_uring", "io_uring", 32),
        ],
    )
]


@dataclass(frozen=True)
class EngineWork:
    """Operations of one run, the seconds they took by its own clock, and the CPU of the whole process."""

    operations: float
    seconds: float
    cpu_s: float
    cycles: float | None


@dataclass(frozen=True)
class Cost:
    """What a run gave, start and end taken out."""

    cycles_per_op: float
    ops_per_s: float


def cost(short: EngineWork, long: EngineWork, tsc_hz: float) -> Cost:
    """What lies between a short and a long run."""
    operations = long.operations - short.operations
    cycles = (long.cpu_s - short.cpu_s) * tsc_hz
    if short.cycles is not None and long.cycles is not None:
        cycles = long.cycles - short.cycles
    return Cost(cycles / operations, long.operations / long.seconds)


def measure(repeats: int, seconds: float, folder: str) -> Json:
    """Every engine, on a hot file and past the page cache."""
    tsc_hz = float(process.document("facts")["cpu"]["tsc_hz"])
    return {
        "bench": "fio",
        "points": list(_points(repeats, seconds, folder, tsc_hz)),
        "method": "hardware counters" if process.counters_work() else "user and kernel time times tsc_hz",
        "tsc_hz": tsc_hz,
        "size": SIZE,
        "file_bytes": FILE_BYTES,
        "seconds": seconds,
        "fio_version": process.fio_version(),
    }


def _points(repeats: int, seconds: float, folder: str, tsc_hz: float) -> Iterator[Json]:
    keeper = folder_job(folder, POINTS[0].assay(), FILE_BYTES, SHORT_S, "warm")
    with prepared(keeper) as files:
        for point in POINTS:
            job = folder_job(folder, point.assay(), FILE_BYTES, SHORT_S, "bypassed" if point.direct else "warm")
            job |= {"scratch": keeper["scratch"], "keep_scratch": True}
            yield _compare(point, job, str(files["data"]), repeats, seconds, tsc_hz)


def _compare(point: EnginePair, job: Json, file: str, repeats: int, seconds: float, tsc_hz: float) -> Json:
    def ours() -> Cost:
        return cost(_assay(job, SHORT_S), _assay(job, SHORT_S + seconds), tsc_hz)

    def theirs() -> Cost:
        return cost(_fio(point, file, SHORT_S), _fio(point, file, SHORT_S + seconds), tsc_hz)

    results: list[tuple[Cost, Cost]] = list(pairs.in_turn(repeats, ours, theirs))
    return {
        "engine": point.engine,
        "depth": point.depth,
        "cache": "bypassed" if point.direct else "hot",
        "cycles_per_op": pairs.compared(*_both(results, "cycles_per_op"), "cycles/op"),
        "throughput": pairs.compared(*_both(results, "ops_per_s"), "ops/s"),
    }


def _both(results: list[tuple[Cost, Cost]], name: str) -> tuple[list[float], list[float]]:
    return [getattr(one, name) for one, _ in results], [getattr(other, name) for _, other in results]


def _assay(job: Json, seconds: float) -> EngineWork:
    record, done = process.assayer(job | {"window": {"measure_s": seconds}})
    found = record["classes"][0]
    return EngineWork(found["operations"], record["window"]["measured_s"], done.cpu_s, done.cycles)


def _fio(point: EnginePair, file: str, seconds: float) -> EngineWork:
    job, done = process.fio(point.fio(file, seconds))
    return EngineWork(job["read"]["total_ios"], job["read"]["runtime"] / 1000, done.cpu_s, done.cycles)
