"""Records as fleets leave them, of no run: for what is said about windows and sums."""

from __future__ import annotations

from typing import Any

from assay.fleet.total import Seat
from hdrh.histogram import HdrHistogram

START_NS = 5_000_000_000
AHEAD_NS = 1_000_000_000_000
WARMUP_S, MEASURE_S = 0.5, 2.0


def histogram(*latencies_ns: int) -> str:
    """An encoded histogram that holds these."""
    found = HdrHistogram(1, 3_600_000_000_000, 3)
    for latency_ns in latencies_ns:
        found.record_value(latency_ns)
    return str(found.encode().decode())


def seat(
    host: str,
    rate: float = 1000.0,
    late_s: float = 0.0,
    measured_s: float = MEASURE_S,
    attempt: int = 1,
    stop: str = "limit",
    latencies_ns: tuple[int, ...] = (1000,),
) -> Seat:
    """A host that measured, by a clock of its own that is far ahead of the scheduler's."""
    opened_ns = START_NS + int((WARMUP_S + late_s) * 1e9) + AHEAD_NS
    labels = {
        "fleet.attempt": str(attempt),
        "fleet.start_ns": str(START_NS),
        "fleet.ahead_ns": str(AHEAD_NS),
        "fleet.error_ns": "200000",
    }
    result = {
        "name": "commits",
        "ops_rate": {"value": rate},
        "bandwidth": {"value": rate * 4096},
        "service": {"histogram": histogram(*latencies_ns)},
    }
    window = {
        "stop": stop,
        "opened_monotonic_ns": opened_ns,
        "closed_monotonic_ns": opened_ns + int(measured_s * 1e9),
    }
    job = {
        "labels": labels,
        "window": {"warmup_s": WARMUP_S, "measure_s": MEASURE_S},
        "targets": [{"kind": "null"}],
    }
    record: Any = {"job": job, "window": window, "classes": [result], "verdict": {"status": "valid"}}
    return Seat(host, "finished", record=record)


def lost(host: str) -> Seat:
    """A host that left nothing."""
    return Seat(host, "interrupted", "The host was lost (running a cell: its worker ended).")
