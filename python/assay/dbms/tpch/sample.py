"""What was seen of one query on one target: every run, the plan, the dominating node, and what follows from them."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import Any

from assay.dbms.tpch.answers import Row
from assay.dbms.tpch.engine import PlanNode, QueryPlan, QueryRun
from assay.study.work import figure, part

Json = dict[str, Any]
_KERNEL = "kernel-accounting"
# Below this share of waiting a query is bound by the CPU.
WAITS = 1 / 3
# A mean request of at least this many bytes is read-ahead at work, or a scan of its own.
SEQUENTIAL_BYTES = 65_536
# The device's counters speak of the query where others read at most as much beside it.
FOREIGN = 2.0


@dataclass
class Sample:
    """One query on one target under one protocol."""

    query: str
    runs: list[QueryRun] = field(default_factory=list)
    plans: list[QueryPlan] = field(default_factory=list)
    node: PlanNode | None = None
    device_requests: float = 0.0
    device_bytes: float = 0.0
    device_busy_s: float = 0.0
    failures: list[str] = field(default_factory=list)
    checked: bool = False
    """Its answer was judged by this process; `first_rows` are that answer's."""
    judged: bool = False
    """Its answer was judged, be it before the run went on."""
    wrong: str = ""
    first_rows: list[Row] = field(default_factory=list)
    row_count: int = 0

    @property
    def seconds(self) -> list[float]:
        """Time to the last row, of every run."""
        return [run.seconds for run in self.runs]

    @property
    def median_s(self) -> float:
        """Of the runs."""
        return statistics.median(self.seconds)

    @property
    def spread(self) -> float:
        """Relative distance between the fastest and the slowest run."""
        return max(self.seconds) / min(self.seconds) - 1 if self.runs and min(self.seconds) > 0 else 0.0

    @property
    def wait_share(self) -> float | None:
        """Share of the time in which the query waited; none where the engine does not tell."""
        shares = [run.wait_s / run.seconds for run in self.runs if run.wait_s is not None and run.seconds > 0]
        return min(1.0, statistics.median(shares)) if shares else None

    @property
    def read_bytes(self) -> float:
        """Bytes that devices gave for it, median of the runs."""
        return statistics.median(run.read_bytes for run in self.runs)

    @property
    def clean(self) -> bool:
        """The device's counters speak of this query: others read little beside it."""
        return self.device_bytes <= sum(run.read_bytes for run in self.runs) * FOREIGN

    def kind(self) -> str:
        """`cpu`, `sequential`, `random`, or `unknown` where nothing tells them apart."""
        waits = self.wait_share
        if waits is None:
            return "unknown"
        if waits < WAITS or self.read_bytes == 0:
            return "cpu"
        if self.device_requests and self.clean:
            large = self.device_bytes / self.device_requests >= SEQUENTIAL_BYTES
            return "sequential" if large else "random"
        return self.node.pattern or "unknown" if self.node else "unknown"

    def part(self, workers: int, tsc_hz: float) -> Json:
        """The query's part of a record."""
        if not self.runs:
            return part(self.query, {}, succeeded=0, failed=len(self.failures), facts={"failure": self.failures[0]})
        return part(
            self.query,
            self._figures(workers, tsc_hz),
            succeeded=len(self.runs),
            failed=len(self.failures),
            facts=self._facts(),
        )

    def _figures(self, workers: int, tsc_hz: float) -> Json:
        median = statistics.median
        cpu_s = median(run.cpu_s for run in self.runs)
        used = min(1.0, median(run.cpu_s / (run.seconds * workers) for run in self.runs if run.seconds > 0))
        found = {
            "time_s": figure(self.median_s, "s"),
            "last_s": figure(self.seconds[-1], "s"),
            "lowest_s": figure(min(self.seconds), "s"),
            "highest_s": figure(max(self.seconds), "s"),
            "device_read_bytes": figure(self.read_bytes, "bytes", method="kernel-accounting"),
            "device_written_bytes": figure(
                median(run.written_bytes for run in self.runs), "bytes", "measured", _KERNEL
            ),
            "cpu_s": figure(cpu_s, "s", method="rusage"),
            "cpu_utilisation_ratio": figure(used, "ratio", method="derived"),
        }
        if self.read_bytes > 0 and tsc_hz > 0:
            found["cycles_per_byte"] = figure(
                cpu_s * tsc_hz / self.read_bytes, "cycles/byte", method="rusage-times-tsc"
            )
        waits = self.wait_share
        if waits is not None:
            found["wait_ratio"] = figure(waits, "ratio", method=self.runs[0].wait_method)
        queued = [run.extra["queued_s"] for run in self.runs if "queued_s" in run.extra]
        if queued:
            found["queued_s"] = figure(median(queued), "s", "measured", _KERNEL)
        buffered = [run.buffer_bytes for run in self.runs if run.buffer_bytes is not None]
        if buffered:
            found["engine_read_bytes"] = figure(median(buffered), "bytes", method=_KERNEL)
        if self.device_requests and self.clean:
            found["device_busy_s"] = figure(self.device_busy_s / len(self.runs), "s", "measured", _KERNEL)
            found["device_request_bytes"] = figure(
                self.device_bytes / self.device_requests, "bytes", "measured", _KERNEL
            )
        return found

    def _facts(self) -> dict[str, str]:
        hashes = list(dict.fromkeys(plan.hash for plan in self.plans))
        found = {
            "plan_hash": " ".join(hashes),
            "class": self.kind(),
            "times_s": " ".join(f"{seconds:.6f}" for seconds in self.seconds),
        }
        if self.node is not None:
            found["dominant_node"] = f"{self.node.name} ({self.node.share:.0%} of a warm run)"
        if self.failures:
            found["failure"] = self.failures[0]
        return found
