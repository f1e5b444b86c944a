"""Readers beside writers on persistent memory, as published, and what twins say of them."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from assay.binary import Binary
from assay.home import catalog as folder
from assay.target import catalog, names
from assay.untyped import Json

TABLE = Path("published/optane-readers-beside-writers.csv")
TWIN, HOST = "pmem100-256g", "xeon-5220s"
THREADS = 16
# Modules that the interference of the twins was not fitted to.
LEFT_OUT = 1
_GIB = float(1 << 30)


@dataclass(frozen=True)
class BesideRow:
    """What one of the two sides reached."""

    modules: int
    readers: bool
    read_bytes: int
    write_bytes: int
    bytes_per_s: float


def read() -> Iterator[BesideRow]:
    """Every row of the table."""
    with (folder() / TABLE).open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            sizes = int(row["read_bytes"]), int(row["write_bytes"])
            yield BesideRow(int(row["modules"]), row["kind"] == "page_in", *sizes, float(row["gib_per_s"]) * _GIB)


def answer(row: BesideRow) -> tuple[float, float]:
    """Bytes a second of the same side by the twin, and the half-width of its band."""
    found = _answers()[row.modules, row.read_bytes, row.write_bytes][0 if row.readers else 1]
    return float(found["bandwidth_bytes_per_s"]), float(found["band"]["bandwidth"])


@cache
def _answers() -> dict[tuple[int, int, int], list[Json]]:
    pairs = sorted({(row.modules, row.read_bytes, row.write_bytes) for row in read()})
    modules = sorted({pair[0] for pair in pairs})
    questions = [
        {"target": modules.index(many), "host": 0, "streams": [_stream(0.0, size), _stream(1.0, written)]}
        for many, size, written in pairs
    ]
    document = {
        "version": catalog.VERSION,
        "targets": [names.target(f"{TWIN}*{many}") for many in modules],
        "hosts": [catalog.host(HOST)],
        "questions": questions,
    }
    answers = Binary.find().document("predict", "-", given=document)["answers"]
    return {pair: answer["solution"]["streams"] for pair, answer in zip(pairs, answers, strict=True)}


def _stream(share: float, size: int) -> Json:
    return {
        "name": "writers" if share else "readers",
        "write_share": share,
        "size_bytes": float(size),
        "sequential": False,
        "threads": THREADS,
        "depth": 1,
        "path": {"key": "pmem", "persist": "nt" if share else "auto"},
        "durability": {"kind": "persist" if share else "none", "every": 1},
    }
