"""What a twin reaches, asked all at once: rates and latencies over operations in flight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.binary import Binary
from assay.error import NOT_POSSIBLE, AssayError
from assay.target import catalog, names
from assay.target.host import HostWish
from assay.twin.predict import Point, stream
from assay.untyped import Json

# Threads enough that the device, not one of them, sets the pace.
_THREADS, _CORES = 16, 64
DEPTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
# A drive of which half holds data written once, for so long, s.
_FRESH_S = 10.0


@dataclass(frozen=True)
class Load:
    """Closed, direct, over the whole drive; `fresh` is a drive that was written once, in order, for ten seconds."""

    operation: str = "read"
    sequential: bool = False
    size_bytes: int = 4096
    in_flight: int = 256
    read_percent: float | None = None
    fresh: bool = False
    flushes: bool = False


@dataclass(frozen=True)
class Reached:
    """A load with what it gets; times in ns."""

    load: Load
    ops_per_s: float
    bytes_per_s: float
    band: float
    p50_ns: float
    p99_ns: float
    mean_ns: float


def drive(name: str) -> Json:
    """The document of a drive or volume.

    Raises:
        AssayError: where there is none, or it is memory.
    """
    document = catalog.twin(name.removeprefix(names.PREFIX))
    if document["device"]["family"] in catalog.MEMORY_FAMILIES:
        hint = "name a drive or a volume; `assay predict` asks memory"
        raise AssayError(f"{document['name']} is memory, which takes no requests", hint=hint, code=NOT_POSSIBLE)
    return document


def reached(document: Json, loads: Sequence[Load]) -> list[Reached]:
    """What each load gets from the drive, in the order of the loads.

    Raises:
        AssayError: where the file of the twin cannot be read, or the twin cannot do it.
    """
    target = {"kind": "device", "twin": document}
    host = HostWish(cores=_CORES).document(target)
    streams = [_stream(document, load) for load in loads]
    questions = [{"target": 0, "host": 0, "streams": [one]} for one in streams]
    given = {"version": catalog.VERSION, "targets": [target], "hosts": [host], "questions": questions}
    answers = Binary.find().document("predict", "-", given=given)["answers"]
    return [_reached(load, answer) for load, answer in zip(loads, answers, strict=True)]


def _stream(document: Json, load: Load) -> Json:
    threads = min(_THREADS, load.in_flight)
    point = Point(
        document["name"],
        load.operation,
        load.sequential,
        load.size_bytes,
        threads,
        load.in_flight // threads,
        path="io_uring+direct",
        read_percent=load.read_percent,
        durability="fdatasync" if load.flushes else "none",
        duration_s=_FRESH_S if load.fresh else 0.0,
        working_set_bytes=int(document["capacity_bytes"]["value"] / (2 if load.fresh else 1)),
    )
    return stream(point, memory=False)


def _reached(load: Load, answer: Json) -> Reached:
    if answer["kind"] == "refused":
        raise AssayError(answer["reason"], hint=answer["fix"], code=NOT_POSSIBLE)
    found = answer["solution"]["streams"][0]
    return Reached(
        load,
        found["ops_per_s"],
        found["bandwidth_bytes_per_s"],
        found["band"]["bandwidth"],
        found["p50"]["mid_ns"],
        found["p99"]["mid_ns"],
        found["mean_ns"],
    )
