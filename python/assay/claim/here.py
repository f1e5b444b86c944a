"""Runs of a study on this machine: not its hardware, but the same loads, so that its statements can be tried here."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from assay.binary import Binary, said
from assay.claim.answer import Answers, RunAnswer, StreamAnswer
from assay.claim.model import ClaimStream, ClaimStudy
from assay.claim.question import SweepPoint, points
from assay.claim.value import ClaimValue
from assay.error import BAD_JOB, AssayError
from assay.record import ClassResult, Record
from assay.study import scratch
from assay.study.job import FORMAT_VERSION, path_spec
from assay.target.target import parse
from assay.units.parse import parse_bytes, parse_rate
from assay.untyped import Json

# Data of one stream: enough to leave the caches of a CPU, little enough that every claim together takes minutes.
_SMALLEST, _LARGEST = 64 << 20, 512 << 20
_SHARE_OF_FREE = 0.02
_WARMUP_S = 0.2


@dataclass(frozen=True)
class MeasuredWhere:
    """Where to measure, and for how long each run."""

    folder: str
    seconds: float


def answers(
    study: ClaimStudy, wanted: set[str], memory: Mapping[str, bool], place: MeasuredWhere, binary: Binary
) -> Answers:
    """Every run of `wanted`, one after the other; `memory` says of each machine whether it is byte-addressable."""
    target = parse(place.folder)
    if target.kind != "folder":
        raise AssayError(f"{place.folder} is a {target.kind}", hint="name a folder with --here", code=BAD_JOB)
    found: dict[str, list[RunAnswer]] = {}
    for point in points(study, wanted):
        refusal = _not_here(point)
        on_memory = memory[point.settings.machine]
        answer = RunAnswer({}, refusal) if refusal else _measure(point, on_memory, place, binary)
        found.setdefault(point.run, []).append(answer)
    return Answers(found)


def _not_here(point: SweepPoint) -> str:
    if point.settings.engine == "simulation":
        return "it takes from minutes to hours on real hardware; `assay run dana-long` measures it"
    if point.settings.path == "spdk":
        return "driving a drive from user space takes it from the kernel; `assay run` does so where a drive is named"
    return ""


def _measure(point: SweepPoint, memory: bool, place: MeasuredWhere, binary: Binary) -> RunAnswer:
    """One run; whatever it refuses becomes the sentence of its answer."""
    with tempfile.TemporaryDirectory(prefix="assay-claims-") as folder:
        log = Path(folder) / "log"
        job = job_of(point, memory, place)
        try:
            with log.open("wb") as messages:
                run = binary.start(job, messages)
                record = _finished(run.events())
                run.wait()
        finally:
            scratch.clean(binary, [place.folder])
        if record is None:
            return RunAnswer({}, said(log.read_text(errors="replace"))[0] or "the run gave no record")
    streams = {found["name"]: stream_of(found) for found in record["classes"]}
    # Real code, but on this machine's memory where the study had modules of persistent memory.
    origin = "emulated" if memory else str(record["classes"][0]["bandwidth"]["provenance"])
    served = "memory" if job["targets"][0]["kind"] == "memory" else place.folder
    return RunAnswer(
        streams, provenance=origin, status=str(record["verdict"]["status"]), machine=point.hardware, place=served
    )


def _finished(events: Iterator[Json]) -> Record | None:
    record: Record | None = None
    for event in events:
        if event["event"] == "finished":
            record = event["record"]
    return record


def job_of(point: SweepPoint, memory: bool, place: MeasuredWhere) -> Json:
    """The job of a point: the same streams, on as much data as suits this machine."""
    loads_and_stores = memory and point.settings.path == "pmem"
    target = {"id": "main", "kind": "memory", "members": []} if loads_and_stores else parse(place.folder).job("main")
    spec = path_spec(point.settings.path.removesuffix("+buffered"))
    if spec["kind"] == "libaio" or (spec["kind"] == "io_uring" and not point.settings.path.endswith("+buffered")):
        spec["direct"] = True
    budget = _budget(place)
    return {
        "version": FORMAT_VERSION,
        "name": f"{point.run}#{point.index}",
        "targets": [target],
        "datasets": [_dataset(alias, stream, budget) for alias, stream in point.streams.items()],
        "classes": [_class(point, alias, stream, dict(spec)) for alias, stream in point.streams.items()],
        "window": {"warmup_s": _WARMUP_S, "measure_s": place.seconds},
        "cache": "bypassed" if spec.get("direct") else "as-found",
        "scratch": "assay-claims",
    }


def _budget(place: MeasuredWhere) -> int:
    free = parse(place.folder).free_bytes()
    return int(min(_LARGEST, max(_SMALLEST, free * _SHARE_OF_FREE)))


def _dataset(alias: str, stream: ClaimStream, budget: int) -> Json:
    size = parse_bytes(stream.size)
    wanted = parse_bytes(stream.working_set) if stream.working_set else budget
    data = max(size, min(wanted, budget))
    layout = stream.layout if stream.op == "write" else "written"
    return {"name": alias, "target": "main", "bytes": data - data % size, "layout": layout}


def _class(point: SweepPoint, alias: str, stream: ClaimStream, spec: Json) -> Json:
    size = parse_bytes(stream.size)
    share = {"read": 0, "write": 100, "mix": stream.write_percent}[stream.op]
    if spec["kind"] == "pmem":
        spec["persist"] = stream.persist
    kind = {"read": {"kind": "read"}, "write": {"kind": "write"}}.get(stream.op)
    found: Json = {
        "name": alias,
        "dataset": alias,
        "path": spec,
        "operation": kind or {"kind": "mix", "write_percent": share},
        "pattern": {"kind": "sequential" if stream.pattern == "sequential" else "uniform"},
        "size": size,
        "threads": stream.threads or point.settings.threads or 1,
        "depth": stream.depth,
        "batch": stream.batch,
        "durability": {"kind": stream.durability if share else "none", "every": 1},
    }
    if stream.rate:
        rate = parse_rate(stream.rate).operations(size)
        found["arrivals"] = {"kind": "fixed", "rate_per_s": rate, "scope": "total"}
    return found


def stream_of(found: ClassResult) -> StreamAnswer:
    """Metrics of one class of a record."""
    service = found["service"]
    metrics = {
        "bandwidth": found["bandwidth"]["value"],
        "rate": found["ops_rate"]["value"],
        "latency": service["mean_ns"],
        "p50": service["p50_ns"],
        "p99": service["p99_ns"],
        "p999": service["p999_ns"],
        "cycles_per_byte": found["cpu"]["cycles_per_byte"]["value"],
        "flush": (found.get("flush") or {}).get("mean_ns"),
    }
    known = {name: ClaimValue(float(value)) for name, value in metrics.items() if value is not None}
    return StreamAnswer({name: value for name, value in known.items() if math.isfinite(value.number)})
