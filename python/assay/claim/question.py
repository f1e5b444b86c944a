"""From the runs of a study to the questions that twins answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from assay.claim.model import ClaimMachine, ClaimStream, ClaimStudy, Run
from assay.error import BAD_JOB, AssayError
from assay.units.parse import parse_bytes, parse_rate, parse_seconds
from assay.untyped import Json

# Paths as the claims write them, on block devices and on persistent memory.
_BLOCK = {
    "pread": "pread_buffered",
    "pread+direct": "pread_direct",
    "mmap": "mmap",
    "libaio": "libaio",
    "io_uring": "io_uring",
    "io_uring+buffered": "io_uring_buffered",
    "spdk": "polled",
}
_MEMORY = {"pread": "dax_pread", "mmap": "dax_mmap_msync", "pmem": "pmem"}


@dataclass(frozen=True)
class SweepPoint:
    """One run of a study with its sweep's value filled in."""

    run: str
    index: int
    machine: ClaimMachine
    settings: Run
    streams: Mapping[str, ClaimStream]

    @property
    def hardware(self) -> str:
        """What the study measured: its device, and the file system on it."""
        system = self.settings.file_system
        return f"{self.machine.on} under {system}" if system else self.machine.on


def points(study: ClaimStudy, wanted: set[str]) -> Iterator[SweepPoint]:
    """Every run of `wanted`, each as often as its sweep has values."""
    for name, run in study.runs.items():
        if name in wanted:
            streams = {alias: study.stream(run, alias) for alias in run.streams}
            for index, changes in enumerate(_sweep(run)):
                changed = {alias: stream.model_copy(update=changes) for alias, stream in streams.items()}
                yield SweepPoint(name, index, study.machines[run.machine], run, changed)


def _sweep(run: Run) -> list[dict[str, str | int]]:
    if not run.sweep:
        return [{}]
    ((key, values),) = run.sweep.items()
    return [{key: value} for value in values]


def streams_of(point: SweepPoint, memory: bool) -> list[Json]:
    """The streams of a point as the twins' documents state them; `memory` says what kind of device it is."""
    return [_stream(point, alias, stream, memory) for alias, stream in point.streams.items()]


def _stream(point: SweepPoint, alias: str, stream: ClaimStream, memory: bool) -> Json:
    run = point.settings
    size = parse_bytes(stream.size)
    share = {"read": 0.0, "write": 1.0, "mix": stream.write_percent / 100}[stream.op]
    found: Json = {
        "name": alias,
        "write_share": share,
        "size_bytes": float(size),
        "sequential": stream.pattern == "sequential",
        "threads": stream.threads or run.threads or 1,
        "depth": stream.depth,
        "batch": stream.batch,
        "path": _path(point, stream, memory),
        "durability": {"kind": stream.durability if share else "none", "every": 1},
        "working_set_bytes": float(parse_bytes(stream.working_set)) if stream.working_set else 0.0,
        "duration_s": parse_seconds(run.duration) if run.duration else 0.0,
    }
    if stream.rate:
        found["rate_per_s"] = parse_rate(stream.rate).operations(size)
    if stream.layout == "grow":
        found["grows"] = True
    if run.file_system:
        found["file_system"] = run.file_system
    if stream.read_ahead:
        found["read_ahead_bytes"] = float(parse_bytes(stream.read_ahead))
    return found


def _path(point: SweepPoint, stream: ClaimStream, memory: bool) -> Json:
    known = _MEMORY if memory else _BLOCK
    word = point.settings.path
    if word not in known:
        kind = "memory" if memory else "block device"
        hint = f"use one of {', '.join(known)}"
        raise AssayError(f"run {point.run}: a {kind} has no path `{word}`", hint=hint, code=BAD_JOB)
    found: Json = {"key": known[word], "persist": stream.persist}
    if point.settings.poll_sleep:
        found["poll_sleep_ns"] = parse_seconds(point.settings.poll_sleep) * 1e9
    return found
