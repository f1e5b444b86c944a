"""Measures what the paths of this machine cost, and writes it as a host that twins can stand on.

Cost is a line over the size of an operation: two sizes give cycles per operation and per byte, two batches what a
submission costs. The device hardly matters, because CPU time is counted: any file system with room will do.

    python -m assay.twin.host_measure FOLDER NAME > NAME.toml
"""

from __future__ import annotations

import datetime as dt
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.binary import Binary, BinaryError, Json
from assay.error import NOT_POSSIBLE, AssayError
from assay.twin.document import Table, parameter, to_toml

SIZES = (4096, 65536)
FILE_BYTES = 64 << 20
BATCH = 16
PATHS: Mapping[str, Json] = {
    "pread_direct": {"kind": "pread", "direct": True},
    "pread_buffered": {"kind": "pread", "direct": False},
    "mmap": {"kind": "mmap"},
    "libaio": {"kind": "libaio", "direct": True},
    "io_uring": {"kind": "io_uring", "direct": True},
    "io_uring_buffered": {"kind": "io_uring", "direct": False},
}
DEEP = ("libaio", "io_uring", "io_uring_buffered")


class HostError(AssayError):
    """The paths of this machine could not be measured."""


@dataclass(frozen=True)
class Cell:
    """One run: a path, a direction, a size, a batch."""

    path: str
    write: bool
    size: int
    batch: int

    def job(self, folder: str, seconds: float) -> Json:
        """The run as a job."""
        deep = self.path in DEEP
        name = {"name": "measure", "target": "here", "bytes": FILE_BYTES}
        return {
            "version": 1,
            "name": f"host {self.path}",
            "seed": 1,
            "targets": [{"id": "here", "kind": "folder", "members": [folder]}],
            "datasets": [name],
            "classes": [
                {
                    "name": "cost",
                    "dataset": "measure",
                    "path": dict(PATHS[self.path]),
                    "operation": {"kind": "write" if self.write else "read"},
                    "pattern": {"kind": "uniform"},
                    "size": self.size,
                    "depth": BATCH if deep else 1,
                    "batch": self.batch,
                }
            ],
            "window": {"warmup_s": 0.1, "measure_s": seconds},
        }


def cells(path: str) -> Iterator[Cell]:
    """What is measured of a path."""
    for write in (False, True):
        for size in SIZES:
            yield Cell(path, write, size, BATCH if path in DEEP else 1)
    if path in DEEP:
        yield Cell(path, False, SIZES[0], 1)


def line(small: float, large: float) -> tuple[float, float]:
    """Cycles per operation and per byte of the line through the costs at both sizes; neither below zero."""
    per_byte = max((large - small) / (SIZES[1] - SIZES[0]), 0.0)
    return max(small - per_byte * SIZES[0], 0.0), per_byte


def cost(path: str, cycles: Mapping[Cell, float], date: str) -> Table:
    """The cost of a path from the cycles per operation of its cells."""
    batch = BATCH if path in DEEP else 1
    read = line(*(cycles[Cell(path, False, size, batch)] for size in SIZES))
    write = line(*(cycles[Cell(path, True, size, batch)] for size in SIZES))
    submission = 0.0
    if path in DEEP:
        alone, shared = cycles[Cell(path, False, SIZES[0], 1)], cycles[Cell(path, False, SIZES[0], BATCH)]
        submission = max((alone - shared) * BATCH / (BATCH - 1), 0.0)

    def seen(value: float) -> Table:
        why = f"Line through {SIZES[0]} and {SIZES[1]} bytes on this machine"
        return parameter(value, "measured", why, date)

    share = submission / BATCH
    flush = parameter(8000, "assumed", "A call without a copy; not measured", date, low=3000, high=30000)
    wakeup = parameter(1000, "assumed", "Interrupt and reschedule; not CPU time, not measured", date, low=0, high=20000)
    return {
        "cycles_per_read": seen(max(read[0] - share, 0.0)),
        "cycles_per_write": seen(max(write[0] - share, 0.0)),
        "cycles_per_byte_read": seen(read[1]),
        "cycles_per_byte_write": seen(write[1]),
        "cycles_per_submission": seen(submission),
        "cycles_per_flush": flush,
        "wakeup_ns": wakeup,
    }


def measure(binary: Binary, folder: Path, name: str, seconds: float = 1.0) -> Table:
    """The document of this machine as a host. Makes a file of 64 MiB in `folder` and removes it.

    Raises:
        HostError: where no path could be measured.
    """
    date = dt.datetime.now(tz=dt.UTC).date().isoformat()
    costs: Table = {}
    machine: Json = {}
    with tempfile.TemporaryDirectory(dir=folder, prefix="assay-host-") as made:
        for path in PATHS:
            found = {cell: _run(binary, cell, made, seconds) for cell in cells(path)}
            records = {cell: record for cell, record in found.items() if record is not None}
            if len(records) < len(found):
                continue
            machine = next(iter(records.values()))["environment"]
            cycles = {cell: _cycles(record) for cell, record in records.items()}
            costs[path] = cost(path, cycles, date)
    if not costs:
        message = f"no path could be measured in {folder}"
        raise HostError(message, hint="name a folder on a file system with 64 MiB free", code=NOT_POSSIBLE)
    return _host(name, machine, costs, date)


def _cycles(record: Json) -> float:
    return float(record["classes"][0]["cpu"]["cycles_per_op"]["value"])


def _run(binary: Binary, cell: Cell, folder: str, seconds: float) -> Json | None:
    """The record of a cell; none where the machine cannot do it."""
    with tempfile.TemporaryFile() as log:
        run = binary.start(cell.job(folder, seconds), log)
        try:
            ended = [event for event in run.events() if event["event"] == "finished"]
        finally:
            run.kill()
        run.wait()
    return dict(ended[-1]["record"]) if ended else None


def _host(name: str, machine: Json, costs: Table, date: str) -> Table:
    cpu = machine["cpu"]
    seen = "What Linux says of this machine"
    guess = "Two hardware threads on a core; one where they are the machine's all"
    return {
        "version": 1,
        "name": name,
        "title": f"{cpu['model']}, Linux {machine['kernel']} (measured here)",
        "cores": parameter(cpu["usable"], "measured", seen, date),
        "threads_per_core": parameter(1, "assumed", guess, date, low=1, high=2),
        "clock_hz": parameter(cpu["tsc_hz"], "measured", "Rate of the counter in which cycles are counted", date),
        "costs": costs,
    }


def main(arguments: list[str]) -> int:
    """Prints the host as TOML."""
    if len(arguments) != 2:
        print("usage: python -m assay.twin.host_measure FOLDER NAME", file=sys.stderr)
        return 2
    try:
        document: dict[str, Any] = measure(Binary.find(), Path(arguments[0]), arguments[1])
    except (HostError, BinaryError) as error:
        print(f"error: {error}\n\nhint: {error.hint}", file=sys.stderr)
        return int(error.code)
    print(to_toml(document), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
