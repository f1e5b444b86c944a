"""The points of a result folder that a twin is fitted to: what ran, what every repeat gave, which are held out."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from assay.error import FAILED, AssayError
from assay.record import Class, ClassResult, PathSpec, Record
from assay.results.files import read_json
from assay.stats.spread import spread
from assay.twin.predict import BLOCK_PATHS
from assay.untyped import Json

POINTS, BESIDE, SUSTAINED, HOST = "fit-points", "fit-beside", "fit-sustained", "fit-host"
# Kinds of points, as the names of points begin; longer beginnings first.
KINDS = (
    "read depth",
    "read size deep",
    "read size",
    "write depth",
    "write size deep",
    "write size",
    "sequential read",
    "sequential write",
    "threads",
    "mix",
    "flush",
)


@dataclass
class Measured:
    """One point: the streams that ran at the same time, the first of which counts, and what its repeats gave.

    Rates in operations per second, latencies in ns, cycles per operation.
    """

    name: str
    kind: str
    streams: list[Json]
    held_out: bool = False
    rates: list[float] = field(default_factory=list)
    p50_ns: list[float] = field(default_factory=list)
    p99_ns: list[float] = field(default_factory=list)
    p999_ns: list[float] = field(default_factory=list)
    cycles: list[float] = field(default_factory=list)

    @property
    def best(self) -> float:
        """The best rate: what the device can do when nobody disturbs it."""
        return max(self.rates)

    @property
    def median(self) -> float:
        """The median rate, as reports have it."""
        return statistics.median(self.rates)

    @property
    def spread(self) -> float:
        """Largest less smallest over the median."""
        return spread(self.rates)

    @property
    def stream(self) -> Json:
        """What the point is about."""
        return self.streams[0]


def read(directory: Path) -> list[Record]:
    """All records of a result folder that were not cut short, in the order of their cells."""
    paths = sorted((directory / "records").glob("*.json"))
    found = [read_json(path) for path in paths]
    whole = [record for record in found if not _interrupted(record)]
    if not any(study_of(record) == POINTS for record in whole):
        hint = "name a folder that `assay fit --on` or `assay run fit` wrote"
        raise AssayError(f"{directory} holds no points to fit a twin to", hint=hint, code=FAILED)
    return whole


def _interrupted(record: Record) -> bool:
    return any(reason["code"] == "interrupted" for reason in record["verdict"]["reasons"])


def study_of(record: Record) -> str:
    """Name of the study that a record belongs to."""
    return str(record["job"]["labels"].get("study", ""))


def factor(record: Record, name: str) -> str:
    """The value of a factor, as text."""
    return str(record["job"]["labels"].get(f"factor.{name}", ""))


def points(records: Sequence[Record]) -> list[Measured]:
    """The points with their repeats; points that turned out the same on this machine are one."""
    found: dict[str, Measured] = {}
    for record in records:
        if study_of(record) not in (POINTS, BESIDE):
            continue
        streams = list(_streams(record))
        key = repr(streams)
        if key not in found:
            found[key] = _new(record, streams)
        _add(found[key], record["classes"][0])
    return _held_out(list(found.values()))


def _new(record: Record, streams: list[Json]) -> Measured:
    if study_of(record) == BESIDE:
        return Measured("read beside 50 MB/s of writes", "beside", streams)
    name = factor(record, "point")
    kind = next((kind for kind in KINDS if name.startswith(kind)), name)
    return Measured(name, kind, streams)


def _add(point: Measured, result: ClassResult) -> None:
    latency = result["service"]
    point.rates.append(float(result["ops_rate"]["value"]))
    point.p50_ns.append(float(latency["p50_ns"]))
    point.p99_ns.append(float(latency["p99_ns"]))
    point.p999_ns.append(float(latency["p999_ns"]))
    point.cycles.append(cycles_per_op(result))


def cycles_per_op(result: ClassResult) -> float:
    """CPU cycles of an operation of a class; 0 where nobody counted."""
    found = result["cpu"].get("cycles_per_op")
    return float(found["value"]) if found else 0.0


def _held_out(found: list[Measured]) -> list[Measured]:
    """Marks every second point of each kind, and the reads beside a writer: a mixture is tested, never fitted."""
    for kind in {point.kind for point in found}:
        for index, point in enumerate(each for each in found if each.kind == kind):
            point.held_out = index % 2 == 1 or kind == "beside"
    return found


def _streams(record: Record) -> Iterator[Json]:
    """The classes as the model takes them."""
    for entry in record["job"]["classes"]:
        yield stream(entry)


def stream(entry: Class) -> Json:
    """A class of a job as a stream. Its data set stands for the whole device, whose state is the one measured."""
    operation = entry["operation"]
    share = {"read": 0.0, "write": 1.0}.get(
        operation["kind"], float(cast("Json", operation).get("write_percent", 0)) / 100
    )
    found: Json = {
        "name": entry["name"],
        "write_share": share,
        "size_bytes": float(cast("int", entry["size"])),
        "sequential": entry["pattern"]["kind"] == "sequential",
        "threads": entry["threads"],
        "depth": entry["depth"],
        "batch": entry["batch"],
        "path": {"key": path_key(entry["path"])},
        "durability": entry["durability"],
    }
    arrivals = entry["arrivals"]
    if arrivals["kind"] == "closed":
        return found
    times = entry["threads"] if arrivals["scope"] == "thread" else 1
    return found | {"rate_per_s": float(arrivals["rate_per_s"]) * times}


def path_key(path: PathSpec) -> str:
    """The twins' name of a path of a job."""
    word = path["kind"] + ("" if path["kind"] == "mmap" else "+direct" if path.get("direct") else "+buffered")
    return BLOCK_PATHS[word]
