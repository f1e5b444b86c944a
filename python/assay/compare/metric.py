"""Which figures of a class are compared."""

from __future__ import annotations

from collections.abc import Sequence

from assay.compare.error import CompareError
from assay.compare.pair import Pair
from assay.error import did_you_mean
from assay.results import row

KNOWN = (
    *("ops_rate", "bandwidth", "service_mean", "service_p50", "service_p90", "service_p99", "service_p999"),
    *("response_mean", "response_p50", "response_p99", "response_p999", "flush_p50", "flush_p99"),
    *("read_service_p50", "read_service_p99", "write_service_p50", "write_service_p99"),
    *("cycles_per_op", "cycles_per_byte", "instructions_per_op", "context_switches_per_op", "system_calls_per_op"),
)


def canonical(names: Sequence[str]) -> tuple[str, ...]:
    """Metrics as typed, under their one name."""
    found = tuple(dict.fromkeys(row.canonical(name) for name in names))
    unknown = next((name for name in found if name not in KNOWN), None)
    if unknown is not None:
        raise CompareError(f"`{unknown}` is not a metric that can be compared", did_you_mean(unknown, KNOWN))
    return found


def usual(pairs: Sequence[Pair]) -> tuple[str, ...]:
    """Throughput, median and tail latency, and CPU; latency from the intended start where the class has a rate."""
    closed = all(one.closed for pair in pairs for one in (pair.a, pair.b))
    head = "service" if closed else "response"
    return ("ops_rate", f"{head}_p50", f"{head}_p99", "cycles_per_op")


def supported(pairs: Sequence[Pair], metric: str) -> bool:
    """Whether every run has at least 100 operations beyond a percentile."""
    return all(one.supported(metric) for pair in pairs for one in (pair.a, pair.b))
