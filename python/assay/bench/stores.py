"""Bandwidth of the pmem path beside fio's libpmem, on tmpfs: memory plays persistent memory for both."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from assay.bench import pairs, process
from assay.bench.prepared import folder_job, prepared
from assay.untyped import Json

FILE_BYTES = 128 << 20
SIZES = (64, 256, 4096)


@dataclass(frozen=True)
class StorePair:
    """One comparison: reads or writes of one size, one after the other or anywhere."""

    write: bool
    random: bool
    size: int

    def assay(self) -> Json:
        """The class of a job. Each write is persistent before the next begins, as for fio."""
        return {
            "path": {"kind": "pmem"} | ({"persist": "nt"} if self.write else {}),
            "operation": {"kind": "write" if self.write else "read"},
            "pattern": {"kind": "uniform" if self.random else "sequential"},
            "size": self.size,
            "durability": {"kind": "persist" if self.write else "none"},
        }

    def fio(self, file: str, seconds: float) -> Json:
        """The same for fio: non-temporal stores (direct), drained on each write (sync)."""
        return {
            "name": "load",
            "filename": file.replace(":", "\\:"),
            "size": FILE_BYTES,
            "rw": ("rand" if self.random else "") + ("write" if self.write else "read"),
            "bs": self.size,
            "ioengine": "libpmem",
            "direct": 1,
            "sync": 1,
            "norandommap": 1,
            "thread": 1,
            "time_based": 1,
            "runtime": f"{round(seconds * 1000)}ms",
        }


POINTS = [StorePair(*words) for words in itertools.product((False, True), (False, True), SIZES)]


def measure(repeats: int, seconds: float, folder: str) -> Json:
    """Every size, reading and writing."""
    return {
        "bench": "pmem",
        "provenance": "emulated",
        "points": list(_points(repeats, seconds, folder)),
        "file_bytes": FILE_BYTES,
        "seconds": seconds,
        "fio_version": process.fio_version(),
    }


def _points(repeats: int, seconds: float, folder: str) -> Iterator[Json]:
    keeper = folder_job(folder, StorePair(False, False, 4096).assay(), FILE_BYTES, seconds, "as-found")
    with prepared(keeper) as files:
        for point in POINTS:
            job = folder_job(folder, point.assay(), FILE_BYTES, seconds, "as-found")
            job |= {"scratch": keeper["scratch"], "keep_scratch": True}
            yield _compare(point, job, str(files["data"]), repeats, seconds)


def _compare(point: StorePair, job: Json, file: str, repeats: int, seconds: float) -> Json:
    def ours() -> float:
        record, _ = process.assayer(job)
        return float(record["classes"][0]["bandwidth"]["value"])

    def theirs() -> float:
        found, _ = process.fio(point.fio(file, seconds), {"PMEM_IS_PMEM_FORCE": "1"})
        return float(found["write" if point.write else "read"]["bw_bytes"])

    results = list(pairs.in_turn(repeats, ours, theirs))
    return {
        "operation": "write" if point.write else "read",
        "pattern": "random" if point.random else "sequential",
        "size": point.size,
        "bandwidth": pairs.compared([pair[0] for pair in results], [pair[1] for pair in results], "bytes/s"),
    }
