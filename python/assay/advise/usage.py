"""What indexes, engines and databases did to processor and drive, and which of them they waited for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.results.work import Work
from assay.units import show

# From this share on, a processor or a drive is the limit.
FULL = 0.85
_MOVED = ("read_bytes", "written_bytes")
_ORDER = {"database": 0, "engine": 1, "index": 2}


@dataclass(frozen=True)
class Usage:
    """One record: shares of the processors and of the drive's time, bytes moved a second, flushes an operation."""

    work: Work
    cpus: int
    cpu: float
    drive: float | None
    moved_bytes_per_s: float
    flushes_per_op: float | None

    @property
    def cause(self) -> str:
        """What it waits for, in words that follow on what it is."""
        if self.cpu >= FULL:
            return "the CPU is the limit, and faster storage would not help"
        threads = self.work.parameters.get("threads")
        if self.work.kind == "index" and isinstance(threads, int) and self.cpu * self.cpus >= FULL * threads:
            who = "its thread is" if threads == 1 else f"its {threads} threads are"
            return f"{who} busy all the time: more threads would do more, and faster storage would not help"
        if self.drive is not None and self.drive >= FULL:
            return "the drive is busy all the time: it is the limit"
        if self.flushes_per_op is not None and self.flushes_per_op >= 0.2:
            often = f"the drive's flushes ({self.flushes_per_op:.2g} for each {self.unit})"
            return f"neither is the limit: it waits for {often}, so commit in groups, or from more sessions"
        return "neither is the limit: it waits for one request after the other, so more of them should be in flight"

    @property
    def unit(self) -> str:
        """What is counted."""
        return {"transactions_per_s": "transaction", "queries_per_s": "query"}.get(self.rate_name, "operation")

    @property
    def rate_name(self) -> str:
        """Name of the rate."""
        return self.work.rate[0] if self.work.rate else ""

    def said(self, best: float) -> str:
        """As evidence; `best` is the most that other records show of this drive, bytes a second."""
        share = f" ({show.percent(self.moved_bytes_per_s / best)} of the best that these records show)" if best else ""
        busy = "" if self.drive is None else f", its drive {show.percent(self.drive)} of the time"
        moved = f", {show.rate(self.moved_bytes_per_s)} moved{share}" if self.moved_bytes_per_s else ""
        what = f"{self.work.subject}, {self.work.workload}"
        return f"{what}: {show.percent(self.cpu)} of {self.cpus} CPUs busy{busy}{moved}; {self.cause}"


def usages(works: Sequence[Work], most: int = 6) -> list[Usage]:
    """Of records on a drive, databases first and the busiest drive first; one of each subject and workload."""
    found: dict[tuple[str, str], Usage] = {}
    for one in works:
        usage = _usage(one)
        if usage is not None and one.medium != "memory" and one.status != "invalid":
            found.setdefault((one.subject, one.workload), usage)
    ranked = sorted(found.values(), key=lambda one: (_ORDER.get(one.work.kind, 3), -(one.drive or 0.0)))
    return ranked[:most]


def _usage(one: Work) -> Usage | None:
    cpu, seconds = one.record.get("cpu"), float(one.record.get("measured_s") or 0)
    cpus = int((one.record["environment"].get("cpu") or {}).get("usable") or 0)
    if not isinstance(cpu, dict) or seconds <= 0 or cpus == 0:
        return None
    used = sum(_figure(cpu.get(name)) for name in ("user_s", "kernel_s", "helper_s"))
    devices = [device for device in one.record.get("devices") or () if isinstance(device, dict)]
    busy = max((_figure(device.get("utilisation")) for device in devices), default=None)
    moved = sum(_figure(device.get(name)) for device in devices for name in _MOVED) / seconds
    flushes = sum(_figure(device.get("flushes")) for device in devices)
    done = one.rate[1] * seconds if one.rate else 0.0
    per_op = flushes / done if done and devices else None
    return Usage(one, cpus, min(1.0, used / (seconds * cpus)), busy, moved, per_op)


def _figure(found: object) -> float:
    value = found.get("value") if isinstance(found, dict) else None
    return float(value) if isinstance(value, (int, float)) else 0.0
