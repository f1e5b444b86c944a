"""Which figures of a class are compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay.compare.error import CompareError
from assay.compare.pair import Pair
from assay.error import did_you_mean
from assay.results import row
from assay.results.row import Row

KNOWN = (
    *("ops_rate", "bandwidth", "service_mean", "service_p50", "service_p90", "service_p99", "service_p999"),
    *("response_mean", "response_p50", "response_p99", "response_p999", "flush_p50", "flush_p99"),
    *("read_service_p50", "read_service_p99", "write_service_p50", "write_service_p99"),
    *("cycles_per_op", "cycles_per_byte", "instructions_per_op", "context_switches_per_op", "system_calls_per_op"),
)


# What stands for a run of an index, an engine or a database, where its record has it: rates, then costs.
OF_WORK = (
    *("transactions_per_s", "new_orders_per_s", "queries_per_s", "ops_rate", "sum_s", "time_s"),
    *("service_p50", "service_p99", "response_p50", "response_p99"),
    *("cycles_per_transaction", "cycles_per_op", "cpu_ns_per_op", "device_written_bytes_per_transaction"),
)


def canonical(names: Sequence[str], rows: Iterable[Row] = ()) -> tuple[str, ...]:
    """Metrics as typed, under their one name: those that every class of I/O has, and the figures of `rows`."""
    found = tuple(dict.fromkeys(row.canonical(name) for name in names))
    known = (*KNOWN, *dict.fromkeys(name for one in rows for name in one.figures))
    unknown = next((name for name in found if name not in known), None)
    if unknown is not None:
        raise CompareError(f"`{unknown}` is not a metric that can be compared", did_you_mean(unknown, known))
    return found


def usual(pairs: Sequence[Pair]) -> tuple[str, ...]:
    """Throughput, median and tail latency, and CPU; latency from the intended start where the class has a rate.

    Of work that is no I/O: what its records have of rates, latencies and costs.
    """
    if pairs and all(pair.a.of_work for pair in pairs):
        return _of_work(pairs)
    rated = any(one.rated for pair in pairs for one in (pair.a, pair.b))
    head = "response" if rated else "service"
    return ("ops_rate", f"{head}_p50", f"{head}_p99", "cycles_per_op")


def _of_work(pairs: Sequence[Pair]) -> tuple[str, ...]:
    """What all runs have. Cycles stand once: per transaction where there are transactions."""
    having = [name for name in OF_WORK if all(pair.log_ratio(name) is not None for pair in pairs)]
    twice = {"cycles_per_op"} if "cycles_per_transaction" in having else set()
    return tuple(name for name in having if name not in twice)


def supported(pairs: Sequence[Pair], metric: str) -> bool:
    """Whether every run has at least 100 operations beyond a percentile."""
    return all(one.supported(metric) for pair in pairs for one in (pair.a, pair.b))
