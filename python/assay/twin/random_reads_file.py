"""Published random reads of six modules of persistent memory that no twin was fitted to, and what twins say of them."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from assay.home import catalog
from assay.twin.predict import Point, predict

TABLE = Path("published/optane-random-reads-six-modules.csv")
TWIN, HOST = "pmem100-256g*6", "xeon-5220s"
THREADS = 16
GB = 1e9


@dataclass(frozen=True)
class RandomRead:
    """What reads of a size reached, and what the twin gives with the half-width of its band; bytes a second."""

    size_bytes: int
    published: float
    modelled: float
    width: float


def read() -> Iterator[RandomRead]:
    """Every row of the table.

    Raises:
        AssayError: where the measuring program is missing.
    """
    with (catalog() / TABLE).open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            size = int(row["read_bytes"])
            found = predict(Point(TWIN, size_bytes=size, threads=THREADS, path="pmem", host=HOST))
            width = float(found["band"]["bandwidth"])
            yield RandomRead(size, float(row["gb_per_s"]) * GB, float(found["bandwidth_bytes_per_s"]), width)
