"""A run of wtperf: a workload on a copy of a filled database, with the page cache on, off or cold; its record."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from assay.binary import Binary
from assay.dbms.cpus import taken
from assay.dbms.target import Counters, DatabaseTarget, names_of
from assay.dbms.workspace import Workspace
from assay.dbms.wtperf import job, parse
from assay.dbms.wtperf.distribution import distribution
from assay.record import Figure, WorkRecord
from assay.rivals.wiredtiger import Program
from assay.study.work import WorkDraft, check, figure, part
from assay.study.work.judge import reason
from assay.untyped import Json


@dataclass(frozen=True)
class WtperfFlags:
    """What a run is asked to do: a workload in a mode of the page cache, within so many seconds."""

    program: Program
    workload: job.WtperfWorkload
    mode: str
    limit_s: float = 3600.0


@dataclass
class Filled:
    """A database that was filled once on a target; each run works on a copy of it."""

    order: WtperfFlags
    where: DatabaseTarget
    space: Workspace
    folder: Path
    load_s: float | None = None

    def __post_init__(self) -> None:
        self.load_s = job.fill(
            self.order.program, self.order.workload, self.folder, self.order.mode, self.order.limit_s
        ).load_s

    def measure(self, binary: Binary) -> WorkRecord:
        """A run; its record."""
        order, counters = self.order, Counters(names_of([self.where]))
        home = self.space.copy(self.folder, "run")
        try:
            found = job.measure(order.program, order.workload, home, self.where, order.mode, counters, order.limit_s)
        finally:
            self.space.remove(home)
        return _record(self, binary, counters, found)


def _record(filled: Filled, binary: Binary, counters: Counters, found: job.Measured) -> WorkRecord:
    order, where = filled.order, filled.where
    draft = WorkDraft("database", "wiredtiger", order.program.version, f"wtperf-{order.workload.name}")
    draft.settings = {"options": list(order.workload.settings), "file": order.workload.file.name}
    draft.parameters = {"page_cache": order.mode}
    draft.lies_on("data", where.name, where.folder, where.in_memory)
    draft.durability = "as the workload's options say"
    draft.measured_s = found.stat.run_s or 0.0
    draft.devices = counters.documents()
    draft.parts = [one for kind in parse.KINDS if (one := _part(found, kind)) is not None]
    draft.figures = _figures(filled, found)
    damaged = sum(one.damaged for one in found.latencies.values())
    draft.checks = [check("latency-files", damaged == 0, f"{damaged} lines that are none of a latency file's")]
    draft.reasons = _reasons(filled, counters, found)
    if order.mode != "on" and where.in_memory:
        why = f"{where.name} is {where.file_system}: its files are memory"
        draft.lacks("reads of a device", why, "take a folder on a device")
    return draft.record(binary)


def _figures(filled: Filled, found: job.Measured) -> dict[str, Figure]:
    done = sum(one.operations for one in found.stat.executed.values())
    figures = {
        "ops_per_s": figure(done / (found.stat.run_s or 1.0), "ops/s"),
        "cpu_s": figure(found.cpu_s, "s", method="rusage"),
        "device_read_bytes": figure(found.read_bytes, "bytes", method="rusage"),
        "device_written_bytes": figure(found.written_bytes, "bytes", method="rusage"),
    }
    return figures | ({"load_s": figure(filled.load_s, "s")} if filled.load_s is not None else {})


def _part(found: job.Measured, kind: str) -> Json | None:
    seen = found.stat.executed.get(kind)
    if seen is None or not seen.per_s:
        return None
    document = part(kind, {"ops_per_s": figure(seen.per_s, "ops/s")}, succeeded=seen.operations, facts={})
    timed = found.latencies.get(kind, parse.Latencies())
    if timed.sampled:
        document["service"] = distribution(timed)
    return document


def _reasons(filled: Filled, counters: Counters, found: job.Measured) -> list[Json]:
    reasons = []
    if filled.order.mode == "cold" and not filled.where.in_memory and found.read_bytes == 0:
        evidence = "the files were not in the page cache, and yet no byte came from a device"
        reasons.append(reason("page-cache-served", "suspect", evidence, "look what lies beneath the folder"))
    cpu = taken(counters.cpus, found.cpu_s, None, counters.window_s)
    return [*reasons, cpu] if cpu is not None else reasons
