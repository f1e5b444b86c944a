"""Records as rows. `docs/results.md` lists the columns; a test keeps the two together."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, cast

from assay.record import Class, ClassResult, CpuUse, Dataset, Distribution, Environment, Figure, Job, PathSpec, Record
from assay.untyped import Json

DISTRIBUTIONS = ("service", "response", "read_service", "write_service", "flush", "lateness")
SUMMARY = ("count", "min_ns", "mean_ns", "stdev_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "p9999_ns", "max_ns")
SUMMARY_EXTRA = ("above_range", "supported_percentile", "histogram")
CPU = (
    *("user_s", "kernel_s", "helper_s", "wait_s", "cycles_per_op", "cycles_per_byte", "instructions_per_op"),
    *("tlb_misses_per_op", "context_switches_per_op", "system_calls_per_op", "page_faults_per_op"),
)


def value(figure: Figure | None) -> float | None:
    """The number of a figure; none where it was not measured."""
    return None if figure is None else float(figure["value"])


def _cpu(use: CpuUse) -> Json:
    figures = cast("dict[str, Figure | None]", use)
    return {name: value(figures.get(name)) for name in CPU}


def identity(cell: str, record: Record) -> Json:
    """What every table begins with: which run of which cell of which study, with its factors."""
    labels = record["job"].get("labels", {})
    factors = {f"factor_{key[7:]}": text for key, text in labels.items() if key.startswith("factor.")}
    return {
        "run_id": record["run"]["id"],
        "cell": cell,
        "study": labels.get("study", ""),
        "scenario": labels.get("scenario", "all"),
        "repeat": int(labels.get("repeat", "1")),
        **factors,
    }


def run_row(cell: str, record: Record) -> Json:
    """The row of the runs table."""
    run, window, job, environment = record["run"], record["window"], record["job"], record["environment"]
    return identity(cell, record) | {
        "name": job["name"],
        "started_at": run["started_at"],
        "wall_s": run["wall_s"],
        "prepare_s": run["prepare_s"],
        "warmup_s": window["warmup_s"],
        "measured_s": window["measured_s"],
        "stop": window["stop"],
        "edge_skew_ns": window["edge_skew_ns"],
        "clock_drift": window["clock_drift"],
        "cache": job.get("cache", "as-found"),
        "seed": job.get("seed", 0),
        "status": record["verdict"]["status"],
        "scaled": _scaled(job),
        **_machine(environment),
        **_place(environment),
        **{f"process_{name}": number for name, number in _cpu(record["process_cpu"]).items()},
        "device_read_bytes": _sum(device["read_bytes"] for device in record["devices"]),
        "device_written_bytes": _sum(device["written_bytes"] for device in record["devices"]),
        "device_flushes": _sum(device["flushes"] for device in record["devices"]),
        "assayer_version": run["assayer_version"],
    }


def _scaled(job: Job) -> str:
    labels = job.get("labels", {})
    return "; ".join(f"{key[7:]}: {text}" for key, text in sorted(labels.items()) if key.startswith("scaled."))


def _machine(environment: Environment) -> Json:
    return {
        "host": environment["host"],
        "kernel": environment["kernel"],
        "virtualisation": environment["virtualisation"],
        "cpu_model": environment["cpu"]["model"],
        "cpus": environment["cpu"]["usable"],
        "memory_bytes": environment["memory"]["total_bytes"],
    }


def _place(environment: Environment) -> Json:
    """Where the targets lie; several members are joined."""
    members = environment["targets"]
    systems = [system["kind"] for member in members if (system := member.get("file_system"))]
    models = [device["model"] or device["name"] for member in members if (device := member.get("device"))]
    return {
        "target_paths": ", ".join(dict.fromkeys(member["path"] for member in members)),
        "file_system": ", ".join(dict.fromkeys(systems)),
        "device_model": ", ".join(dict.fromkeys(models)),
    }


def _sum(figures: Iterable[Figure]) -> float | None:
    values = [float(figure["value"]) for figure in figures]
    return sum(values) if values else None


def class_rows(cell: str, record: Record) -> Iterator[Json]:
    """The rows of the classes table: one per class."""
    asked = {entry["name"]: entry for entry in record["job"]["classes"]}
    datasets = {entry["name"]: entry for entry in record["job"]["datasets"]}
    for result in record["classes"]:
        entry = asked[result["name"]]
        yield (
            identity(cell, record)
            | {"class": result["name"], "status": record["verdict"]["status"]}
            | _asked(entry, datasets.get(entry["dataset"], {}), record["job"])
            | _figures(result)
            | _distributions(result)
            | _objective(result)
        )


def _asked(entry: Class, dataset: Dataset, job: Job) -> Json:
    operation, arrivals = entry["operation"], entry.get("arrivals") or {"kind": "closed"}
    durability = entry.get("durability") or {"kind": "none", "every": 1}
    shares = {"read": 0, "write": 100}
    return {
        "path": path_text(entry["path"]),
        "advice": entry["path"].get("advice", "normal"),
        "poll_sleep_us": entry["path"].get("poll_sleep_us", 0),
        "operation": operation["kind"],
        "write_percent": shares.get(operation["kind"], operation.get("write_percent")),
        "pattern": entry["pattern"]["kind"],
        "size_bytes": _mean_size(entry["size"]),
        "threads": entry.get("threads", 1),
        "depth": entry.get("depth", 1),
        "batch": entry.get("batch", 1),
        "arrivals": arrivals["kind"],
        "think_s": _think_s(entry),
        "durability": durability["kind"],
        "flush_every": durability.get("every", 1),
        "layout": dataset.get("layout", "written"),
        "dataset_bytes": dataset.get("bytes", 0) * dataset.get("files", 1),
        "cache": job.get("cache", "as-found"),
    }


def _think_s(entry: Class) -> float:
    """Pause of an operation on average."""
    think = entry.get("think")
    return think["pause_s"] / think.get("every", 1) if think else 0.0


def path_text(spec: PathSpec) -> str:
    """A path as study files write it: `io_uring+direct`."""
    words = [spec["kind"], *(flag for flag in ("direct", "fixed", "fenced") if spec.get(flag))]
    words += [spec["poll"]] if spec.get("poll", "none") != "none" else []
    words += [spec["reach"]] if spec.get("reach", "auto") != "auto" else []
    persist = spec.get("persist", "auto")
    return "+".join(words + ([{"none": "nopersist"}.get(persist, persist)] if persist != "auto" else []))


def _mean_size(size: Any) -> float:
    parts = size if isinstance(size, list) else [{"bytes": size, "weight": 1}]
    weights = sum(float(part["weight"]) for part in parts)
    return sum(float(part["bytes"]) * float(part["weight"]) for part in parts) / weights


def _figures(result: ClassResult) -> Json:
    baseline, cpu = result["baseline"], result["cpu"]
    return {
        "operations": result["operations"],
        "reads": result["reads"],
        "writes": result["writes"],
        "bytes": result["bytes"],
        "bandwidth_bytes_per_s": value(result["bandwidth"]),
        "ops_per_s": value(result["ops_rate"]),
        "asked_rate_ops_per_s": value(result.get("asked_rate")),
        "asked_depth": result["asked_depth"],
        "achieved_depth": value(result["achieved_depth"]),
        **_cpu(cpu),
        "cycles_method": cpu["cycles_per_op"]["method"],
        "cycles_counted_by": (cpu.get("counted") or {}).get("by"),
        "device_read_bytes": value(result.get("device_read_bytes")),
        "device_written_bytes": value(result.get("device_written_bytes")),
        "null_ops_per_s": value(baseline["null_ops_per_s"]),
        "generator_share": value(baseline["generator_share"]),
        "errors": sum(result.get("errors", {}).values()),
        "provenance": result["bandwidth"]["provenance"],
    }


def _distributions(result: ClassResult) -> Json:
    found: Json = {}
    distributions = cast("dict[str, Distribution | None]", result)
    for name in DISTRIBUTIONS:
        one = distributions.get(name) or {}
        found |= {f"{name}_{column}": one.get(column) for column in (*SUMMARY, *SUMMARY_EXTRA)}
    return found


def _objective(result: ClassResult) -> Json:
    outcome = result.get("objective") or {}
    asked, check = outcome.get("objective") or {}, result.get("check") or {}
    return {
        "objective_metric": asked.get("metric"),
        "objective_bound": asked.get("bound"),
        "objective_seen": outcome.get("seen"),
        "objective_met": outcome.get("met"),
        "check_blocks": check.get("blocks"),
        "check_wrong": check.get("wrong"),
    }


def interval_rows(cell: str, record: Record) -> Iterator[Json]:
    """The rows of the intervals table: one per class and interval."""
    for result in record["classes"]:
        head = identity(cell, record) | {"class": result["name"]}
        for point in result["intervals"]:
            length = point["length_s"]
            rates = {
                "bandwidth_bytes_per_s": point["bytes"] / length if length > 0 else None,
                "ops_per_s": point["operations"] / length if length > 0 else None,
            }
            yield head | point | rates


def verdict_rows(cell: str, record: Record) -> Iterator[Json]:
    """The rows of the verdicts table: one per reason."""
    verdict = record["verdict"]
    for reason in verdict["reasons"]:
        yield identity(cell, record) | {
            "status": verdict["status"],
            "code": reason["code"],
            "severity": reason["severity"],
            "class": reason.get("class"),
            "evidence": reason["evidence"],
            "fix": reason["fix"],
            "numbers": json.dumps(reason.get("numbers", {})),
        }


def not_measured_rows(cell: str, record: Record) -> Iterator[Json]:
    """The rows of the not_measured table that a record gives: figures that could not be had."""
    for entry in record["not_measured"]:
        yield identity(cell, record) | {"state": "figure"} | entry
