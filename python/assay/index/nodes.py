"""Lookup time against node size: how deep a tree of such nodes is, times what reading one of them takes.

The arithmetic of "Lessons learned from the early performance evaluation of Intel Optane DC Persistent Memory in DBMS"
(Wu, Park, Sen, Kroth, Do, DaMoN 2020): small nodes are read faster and make a deeper tree, so the best size is a matter
of the device. What reading takes is measured here by random reads of that size, one at a time, or comes from a twin.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from assay.binary import Binary
from assay.error import BAD_JOB, AssayError
from assay.record import Record
from assay.results.files import read_json
from assay.study import run
from assay.study.execute import Observer
from assay.study.request import Wish, prepare
from assay.study.settings import parse_settings
from assay.target import names
from assay.target.target import parse_all
from assay.twin.predict import Point, predict
from assay.units.parse import parse_bytes
from assay.untyped import Json

SIZES = ("256B", "512B", "1KiB", "2KiB", "4KiB", "8KiB", "16KiB")
STUDY = "lessons-size"
DIRECT_LEAST = 512


@dataclass(frozen=True)
class Tree:
    """Entries, and what a node has room for."""

    keys: int
    entry_bytes: int = 16
    header_bytes: int = 32
    fill: float = 0.69

    def depth(self, node_bytes: int) -> int:
        """Nodes from root to leaf, both included.

        Raises:
            AssayError: where a node would have fewer than two children.
        """
        fanout = math.floor((node_bytes - self.header_bytes) / self.entry_bytes * self.fill)
        if fanout < 2:
            what = f"a node of {node_bytes} bytes has room for {fanout} entries of {self.entry_bytes} bytes"
            raise AssayError(what, hint="ask for larger nodes or smaller entries", code=BAD_JOB)
        depth, reach = 1, fanout
        while reach < self.keys:
            depth, reach = depth + 1, reach * fanout
        return depth


def on_twin(on: str, sizes: Sequence[str], tree: Tree) -> list[Json]:
    """Lookup times on a twin."""
    rows = []
    for size in sizes:
        found = predict(Point(on=on, operation="read", size_bytes=parse_bytes(size)))
        rows.append(
            _row(on, size, tree, float(found["latency_ns"]["mean"]), "modelled", float(found["band"]["latency"]))
        )
    return rows


def here(on: str, path: str, sizes: Sequence[str], tree: Tree, data: str, observer: Observer) -> list[Json]:
    """Lookup times in a folder of this machine; what is written there is removed again."""
    usable = [size for size in sizes if path == "DAX" or parse_bytes(size) >= DIRECT_LEAST]
    texts = [f"size={','.join(usable)}", "threads=1", "pattern=uniform", "operation=read", f"path={path}"]
    settings = parse_settings([*texts, f"data={data}", "measure=1s"])
    targets = tuple(parse_all([on], [], False))
    if any(target.kind != "folder" for target in targets):
        raise AssayError(f"{on} is no folder", hint="name a folder on the device", code=BAD_JOB)
    prepared = prepare(Wish(STUDY, targets, settings, repeats=1), Binary.find())
    with tempfile.TemporaryDirectory() as parent:
        directory = Path(parent) / "nodes"
        run.start(prepared, directory, Binary.find(), observer, ["assay", "index", "nodes"])
        records = [read_json(found) for found in sorted((directory / "records").glob("*.json"))]
    return sorted((_measured(on, tree, record) for record in records), key=lambda row: int(row["node_bytes"]))


def _measured(on: str, tree: Tree, record: Record) -> Json:
    size = int(cast("int", record["job"]["classes"][0]["size"]))
    service = record["classes"][0]["service"]
    row = _row(on, str(size), tree, float(service["mean_ns"]), str(service["provenance"]), 0.0)
    return row | {"verdict": record["verdict"]["status"]}


def _row(on: str, size: str, tree: Tree, read_ns: float, provenance: str, band: float) -> Json:
    depth = tree.depth(parse_bytes(size))
    return {
        "on": on,
        "node_bytes": parse_bytes(size),
        "depth": depth,
        "read_ns": read_ns,
        "lookup_ns": depth * read_ns,
        "low_ns": depth * read_ns * (1 - band),
        "high_ns": depth * read_ns * (1 + band),
        "provenance": provenance,
    }


def is_twin(on: str) -> bool:
    """Whether a target is a twin."""
    return on.startswith(names.PREFIX)


def best(rows: Sequence[Json]) -> str:
    """The size with the shortest lookup, and how much longer the smallest and the largest take, in words."""
    first = min(rows, key=lambda row: float(row["lookup_ns"]))
    takes = f"{first['lookup_ns'] / 1e3:.2f} us for {first['depth']} nodes"
    ends = sorted({int(row["node_bytes"]): row for row in rows if row is not first}.items())
    others = [row for _, row in (ends[:1] + ends[-1:] if len(ends) > 1 else ends)]
    if not others:
        return f"{first['on']} ({first['provenance']}): {first['node_bytes']} B takes {takes}."
    longer = [f"{row['node_bytes']} B takes {row['lookup_ns'] / first['lookup_ns']:.2f}" for row in others]
    where = f"{first['on']} ({first['provenance']})"
    return f"{where}: {first['node_bytes']} B is best, {takes}; {' and '.join(longer)} times as long."
