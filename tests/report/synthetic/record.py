"""Records as the measuring binary writes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from assay.untyped import Json
from hdrh.histogram import HdrHistogram

GIB = 1 << 30
_RANGE = (1, 60_000_000_000, 3)


def figure(value: float, unit: str, method: str = "loop", provenance: str = "measured") -> Json:
    return {"value": float(value), "unit": unit, "provenance": provenance, "method": method}


def distribution(sample: np.ndarray[Any, np.dtype[np.float64]], count: int, provenance: str = "measured") -> Json:
    """A distribution of `count` values with the shape of `sample`."""
    histogram = HdrHistogram(*_RANGE)
    each = max(1, count // len(sample))
    for value in sample[: max(1, count // each)]:
        histogram.record_value(int(max(1, value)), each)
    total = histogram.get_total_count()
    percentiles = {"p50_ns": 50, "p90_ns": 90, "p99_ns": 99, "p999_ns": 99.9, "p9999_ns": 99.99}
    return {
        "provenance": provenance,
        "count": total,
        "min_ns": int(histogram.get_min_value()),
        "mean_ns": float(sample.mean()),
        "stdev_ns": float(sample.std()),
        **{name: int(histogram.get_value_at_percentile(share)) for name, share in percentiles.items()},
        "max_ns": int(histogram.get_max_value()),
        "above_range": 0,
        "supported_percentile": max(0.0, 100.0 * (1 - 100 / total)),
        "histogram": histogram.encode().decode(),
    }


@dataclass
class Shape:
    """What one class of a cell looks like."""

    name: str
    ops_per_s: float
    median_ns: float
    asked: Json
    tail: float = 0.35
    response: float = 0.0
    flush_ns: float = 0.0
    cycles_per_op: float = 12_000.0
    objective: Json | None = None
    levels: list[tuple[float, float]] = field(default_factory=list)
    extra: Json = field(default_factory=dict)


@dataclass
class Window:
    seconds: float = 4.0
    interval: float = 0.1


def _intervals(shape: Shape, size: int, window: Window, random: np.random.Generator) -> list[Json]:
    found, at = [], 0.0
    for _ in range(round(window.seconds / window.interval)):
        at += window.interval
        level = next((factor for until, factor in shape.levels if at <= until), 1.0)
        operations = max(0, round(shape.ops_per_s * window.interval * level * random.normal(1, 0.04)))
        mean = shape.median_ns * 1.1 / level
        found.append(
            {
                "at_s": round(at, 6),
                "length_s": window.interval,
                "operations": operations,
                "bytes": operations * size,
                "mean_ns": mean if operations else 0.0,
                "p50_ns": round(shape.median_ns / level * random.normal(1, 0.02)),
                "p99_ns": round(shape.median_ns / level * 2.4 * random.normal(1, 0.1)),
                "max_ns": round(mean * 9),
            }
        )
    return found


def _cpu(shape: Shape, operations: int, size: int, *, counters: bool) -> Json:
    cycles = shape.cycles_per_op
    method = "hardware-counter" if counters else "rusage-times-tsc"
    seconds = cycles * operations / 2.4e9
    found = {
        "user_s": figure(seconds * 0.3, "s", "rusage"),
        "kernel_s": figure(seconds * 0.7, "s", "rusage"),
        "helper_s": figure(0, "s", "kernel-accounting"),
        "wait_s": figure(0, "s"),
        "cycles_per_op": figure(cycles, "cycles/op", method),
        "cycles_per_byte": figure(cycles / size, "cycles/byte", method),
        "context_switches_per_op": figure(1.0, "1/op", "rusage"),
        "system_calls_per_op": figure(1.0 / int(shape.asked.get("batch", 1)), "1/op"),
        "page_faults_per_op": figure(0.0, "1/op", "rusage"),
    }
    if counters:
        found["instructions_per_op"] = figure(cycles * 0.8, "instructions/op", method)
        found["tlb_misses_per_op"] = figure(float(shape.extra.get("tlb", 12.0)), "1/op", method)
    return found


def result(shape: Shape, window: Window, random: np.random.Generator, *, counters: bool, provenance: str) -> Json:
    """One class's result."""
    size = int(shape.asked["size"])
    intervals = _intervals(shape, size, window, random)
    operations = sum(int(entry["operations"]) for entry in intervals)
    seconds = window.seconds
    sample = shape.median_ns * np.exp(random.normal(0, shape.tail, 500)) * (1 + (random.random(500) > 0.985) * 4)
    writes = operations if shape.asked["operation"]["kind"] == "write" else 0
    found: Json = {
        "name": shape.name,
        "operations": operations,
        "reads": operations - writes,
        "writes": writes,
        "bytes": operations * size,
        "bandwidth": figure(operations * size / seconds, "bytes/s", "loop", provenance),
        "ops_rate": figure(operations / seconds, "ops/s", "loop", provenance),
        "asked_depth": int(shape.asked["threads"]) * int(shape.asked["depth"]),
        "achieved_depth": figure(int(shape.asked["threads"]) * int(shape.asked["depth"]) * 0.98, "count", "derived"),
        "service": distribution(sample, max(operations, 1), provenance),
        "cpu": _cpu(shape, operations, size, counters=counters),
        "baseline": {
            "null_ops_per_s": figure(9.1e6, "ops/s"),
            "null_cycles_per_op": figure(260, "cycles/op", "rusage-times-tsc"),
            "generator_share": figure(min(1.0, 260 / shape.cycles_per_op), "ratio", "derived"),
        },
        "intervals": intervals,
    }
    if shape.response:
        waited = sample * shape.response * (1 + random.random(500) * 0.4)
        found["response"] = distribution(waited, max(operations, 1), provenance)
        found["asked_rate"] = figure(float(shape.asked["arrivals"]["rate_per_s"]), "ops/s", "derived")
    if shape.flush_ns:
        flushes = shape.flush_ns * np.exp(random.normal(0, 0.3, 500))
        every = int(shape.asked["durability"]["every"])
        found["flush"] = distribution(flushes, max(operations // every, 1), provenance)
    if shape.objective:
        seen = float(found["response" if shape.response else "service"]["p99_ns"])
        found["objective"] = {"objective": shape.objective, "seen": seen, "met": seen <= shape.objective["bound"]}
    return found


def asked(name: str, **changes: Any) -> Json:
    """A class with every default filled in."""
    path = {
        "kind": "pread",
        "direct": True,
        "fixed": False,
        "poll": "none",
        "advice": "normal",
        "persist": "auto",
        "fenced": False,
    }
    path.update(changes.pop("path", {}))
    found: Json = {
        "name": name,
        "dataset": "data",
        "path": path,
        "operation": {"kind": "read"},
        "pattern": {"kind": "uniform"},
        "size": 4096,
        "threads": 1,
        "depth": 1,
        "batch": 1,
        "arrivals": {"kind": "closed"},
        "durability": {"kind": "none", "every": 1},
        "buffer_bytes": 0,
        "dirty_bytes": 0,
        "start_s": 0.0,
    }
    return {**found, **changes}


ENVIRONMENT: Json = {
    "host": "db-bench-3",
    "kernel": "6.1.0-18-amd64",
    "kernel_build": "#1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1",
    "distribution": "Debian GNU/Linux 12 (bookworm)",
    "architecture": "x86_64",
    "virtualisation": "none",
    "cpu": {
        "model": "AMD EPYC 7313P 16-Core Processor",
        "usable": 32,
        "logical": 32,
        "numa_nodes": 1,
        "tsc_hz": 2.994e9,
        "clock": "tsc",
        "governor": "performance",
        "turbo": "off",
        "features": ["avx2"],
        "llc_bytes": 128 << 20,
    },
    "memory": {
        "total_bytes": 128 * GIB,
        "available_bytes": 120 * GIB,
        "swap_used_bytes": 0,
        "transparent_hugepages": "madvise",
        "memlock_bytes": 8 << 20,
    },
    "perf_event_paranoid": 1,
    "io_uring_disabled": 0,
    "load_average": 0.12,
    "targets": [
        {
            "target": "main",
            "path": "/srv/db",
            "file_system": {
                "kind": "ext4",
                "mount_point": "/srv",
                "options": "rw,noatime",
                "block_bytes": 4096,
                "total_bytes": 960 * 10**9,
                "free_bytes": 700 * 10**9,
            },
            "device": {
                "name": "nvme0n1",
                "model": "SAMSUNG MZQL2960HCJR",
                "serial": "S64FNE0R100001",
                "firmware": "GDC5602Q",
                "bytes": 960197124096,
                "logical_block_bytes": 512,
                "physical_block_bytes": 4096,
                "scheduler": "none",
                "write_cache": "write back",
                "rotational": False,
                "numa_node": 0,
                "io_poll": False,
                "dax": False,
                "link": "16.0 GT/s x4",
                "nr_requests": 1023,
                "max_sectors_kb": 128,
                "members": ["nvme0n1"],
            },
        }
    ],
}


def reason(code: str, severity: str, evidence: str, fix: str, name: str | None = None, **numbers: float) -> Json:
    found: Json = {"code": code, "severity": severity, "evidence": evidence, "fix": fix}
    return {**found, **({"class": name} if name else {}), **({"numbers": numbers} if numbers else {})}


def _job(cell: str, shapes: list[Shape], labels: dict[str, str], seed: int, window: Window, cache: str) -> Json:
    dataset = {"name": "data", "target": "main", "bytes": 8 * GIB, "files": 1, "layout": "written"}
    dataset |= {"placement": "interleave", "stripe_bytes": 0, "content": "random"}
    return {
        "version": 1,
        "name": cell,
        "seed": seed,
        "targets": [{"id": "main", "kind": "folder", "members": ["/srv/db"], "yes_destroy": False}],
        "datasets": [dataset],
        "classes": [shape.asked | ({"objective": shape.objective} if shape.objective else {}) for shape in shapes],
        "window": {
            "warmup_s": 0.5,
            "measure_s": window.seconds,
            "steady_after_s": 0.0,
            "interval_ms": round(window.interval * 1000),
            "bytes_at_most": 0,
        },
        "cache": cache,
        "checks": {"data": False},
        "scratch": "assay-scratch",
        "keep_scratch": True,
        "free_percent_at_least": 5.0,
        "labels": labels,
    }


def _device(total: float) -> Json:
    method = "kernel-accounting"
    return {
        "device": "nvme0n1",
        "read_bytes": figure(total, "bytes", method),
        "written_bytes": figure(0, "bytes", method),
        "reads": figure(total / 4096, "count", method),
        "writes": figure(0, "count", method),
        "flushes": figure(0, "count", method),
        "mean_in_flight": figure(1.0, "count", method),
        "utilisation": figure(0.93, "ratio", method),
    }


def _verdict(reasons: list[Json]) -> Json:
    rank = {"note": 0, "suspect": 1, "invalid": 2}
    worst = max((rank[entry["severity"]] for entry in reasons), default=0)
    return {
        "status": ["valid", "suspect", "invalid"][worst],
        "reasons": sorted(reasons, key=lambda entry: -rank[entry["severity"]]),
    }


def record(
    cell: str,
    shapes: list[Shape],
    labels: dict[str, str],
    *,
    reasons: list[Json],
    seed: int,
    window: Window | None = None,
    cache: str = "bypassed",
    counters: bool = False,
    provenance: str = "measured",
    not_measured: list[Json] | None = None,
) -> Json:
    """A whole record."""
    window, random = window or Window(), np.random.default_rng(seed)
    results = [result(shape, window, random, counters=counters, provenance=provenance) for shape in shapes]
    total = sum(entry["bytes"] for entry in results) or 1
    cycles = sum(entry["cpu"]["cycles_per_op"]["value"] * entry["operations"] for entry in results)
    whole = {**results[0]["cpu"], "cycles_per_byte": figure(cycles / total, "cycles/byte", "rusage-times-tsc")}
    return {
        "version": 1,
        "run": {
            "id": f"{cell}-{seed}",
            "started_at": "2026-03-14T10:21:07Z",
            "assayer_version": "0.1.0",
            "wall_s": window.seconds + 1.5,
            "prepare_s": 0.4,
        },
        "job": _job(cell, shapes, labels, seed, window, cache),
        "environment": ENVIRONMENT,
        "window": {
            "warmup_s": 0.5,
            "measured_s": window.seconds,
            "stop": "limit",
            "edge_skew_ns": 4100,
            "clock_drift": 2e-7,
        },
        "classes": results,
        "process_cpu": whole,
        "devices": [_device(total)],
        "not_measured": not_measured or [],
        "verdict": _verdict(reasons),
    }
