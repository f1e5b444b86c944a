"""What was seen of one query in a pass."""

from __future__ import annotations

from dataclasses import dataclass

from assay.dbms.tpch.engine import PlanNode, QueryPlan, QueryRun
from assay.study.work import figure, part
from assay.untyped import Json

_KERNEL = "kernel-accounting"
# From this share of its time on, a query waits for storage rather than for a CPU.
WAITS = 1 / 3
# A mean request of at least this many bytes is read-ahead at work, or a scan of its own.
SEQUENTIAL_BYTES = 65_536
# The device's counters speak of the query where others read at most as much beside it.
FOREIGN = 2.0


@dataclass
class Sample:
    """One query on one target under one protocol: its run, or why there is none."""

    query: str
    run: QueryRun | None = None
    plan: QueryPlan | None = None
    node: PlanNode | None = None
    device_requests: float = 0.0
    device_bytes: float = 0.0
    device_busy_s: float = 0.0
    failure: str = ""
    wrong: str = ""
    """How its answer is wrong; empty where it is right."""

    def part(self, workers: int, tsc_hz: float) -> Json:
        """The query's part of a record."""
        if self.run is None:
            return part(self.query, {}, succeeded=0, failed=1, facts={"failure": self.failure})
        return part(self.query, self._figures(self.run, workers, tsc_hz), facts=self._facts(self.run))

    def kind(self, run: QueryRun) -> str:
        """`cpu`, `sequential`, `random`, or `unknown` where nothing tells them apart."""
        waits = _wait_share(run)
        if waits is None:
            return "unknown"
        if waits < WAITS or run.read_bytes == 0:
            return "cpu"
        if self._clean(run):
            large = self.device_bytes / self.device_requests >= SEQUENTIAL_BYTES
            return "sequential" if large else "random"
        return self.node.pattern or "unknown" if self.node else "unknown"

    def _clean(self, run: QueryRun) -> bool:
        """The device's counters speak of this query: others read little beside it."""
        return self.device_requests > 0 and self.device_bytes <= run.read_bytes * FOREIGN

    def _figures(self, run: QueryRun, workers: int, tsc_hz: float) -> Json:
        used = min(1.0, run.cpu_s / (run.seconds * workers)) if run.seconds > 0 else 0.0
        found = {
            "time_s": figure(run.seconds, "s"),
            "device_read_bytes": figure(run.read_bytes, "bytes", method=_KERNEL),
            "device_written_bytes": figure(run.written_bytes, "bytes", method=_KERNEL),
            "cpu_s": figure(run.cpu_s, "s", method="rusage"),
            "cpu_utilisation_ratio": figure(used, "ratio", method="derived"),
        }
        if run.read_bytes > 0 and tsc_hz > 0:
            cycles = run.cpu_s * tsc_hz / run.read_bytes
            found["cycles_per_byte"] = figure(cycles, "cycles/byte", method="rusage-times-tsc")
        if (waits := _wait_share(run)) is not None:
            found["wait_ratio"] = figure(waits, "ratio", method=run.wait_method)
        if "queued_s" in run.extra:
            found["queued_s"] = figure(run.extra["queued_s"], "s", method=_KERNEL)
        if run.buffer_bytes is not None:
            found["engine_read_bytes"] = figure(run.buffer_bytes, "bytes", method=_KERNEL)
        if self._clean(run):
            found["device_busy_s"] = figure(self.device_busy_s, "s", method=_KERNEL)
            size = self.device_bytes / self.device_requests
            found["device_request_bytes"] = figure(size, "bytes", method=_KERNEL)
        return found

    def _facts(self, run: QueryRun) -> dict[str, str]:
        found = {"plan_hash": self.plan.hash if self.plan else "", "class": self.kind(run)}
        if self.node is not None:
            found["dominant_node"] = f"{self.node.name} ({self.node.share:.0%} of a warm run)"
        return found


def _wait_share(run: QueryRun) -> float | None:
    """Share of the time in which the query waited; none where the engine does not tell."""
    return min(1.0, run.wait_s / run.seconds) if run.wait_s is not None and run.seconds > 0 else None
