"""Throughput and utilisation of a record: what R needs of a measurement."""

from __future__ import annotations

from pathlib import Path

from assay.error import did_you_mean
from assay.price.error import PriceError
from assay.price.ratio import Load, missing_utilisation
from assay.price.seen import find_work, load_of_work, read_record
from assay.record import ClassResult, Record

METRICS = {"ops": ("ops_rate", "operations/s"), "bandwidth": ("bandwidth", "B/s")}


def load_of(directory: Path, cell: str, metric: str, classes: list[str] | None = None) -> Load:
    """Throughput, threads and utilisation of the classes of a record (all of them, unless some are named)."""
    if metric not in METRICS:
        raise PriceError(f"`{metric}` is no throughput", did_you_mean(metric, METRICS))
    work = find_work(directory, cell)
    if work is not None:
        if metric != "ops" or classes:
            raise PriceError(f"`{cell}` is a record of work", "leave --class and --metric out: it has one rate")
        return load_of_work(work)
    record = read_record(directory, cell)
    status = record["verdict"]["status"]
    if status == "invalid":
        codes = ", ".join(reason["code"] for reason in record["verdict"]["reasons"])
        raise PriceError(f"the record of `{cell}` is invalid ({codes})", "mend that and measure again; no price on it")
    chosen = _chosen(record, classes)
    field, unit = METRICS[metric]
    threads = sum(entry.get("threads", 1) for entry in record["job"]["classes"] if entry["name"] in chosen)
    results = [result for result in record["classes"] if result["name"] in chosen]
    busy_s = sum(_cpu_s(result) for result in results)
    figures = [result["ops_rate"] if field == "ops_rate" else result["bandwidth"] for result in results]
    provenance = figures[0]["provenance"] if len({figure["provenance"] for figure in figures}) == 1 else "modelled"
    return Load(
        throughput=sum(figure["value"] for figure in figures),
        unit=unit,
        threads=threads,
        utilisation=min(1.0, busy_s / (record["window"]["measured_s"] * threads)),
        provenance=provenance,
        source=f"record {record['run']['id']}, cell {cell}",
        warnings=_warnings(status, cell, busy_s / (record["window"]["measured_s"] * threads)),
    )


def _chosen(record: Record, classes: list[str] | None) -> set[str]:
    there = [result["name"] for result in record["classes"]]
    for name in classes or ():
        if name not in there:
            raise PriceError(f"the record has no class `{name}`", did_you_mean(name, there))
    return set(classes or there)


def _cpu_s(result: ClassResult) -> float:
    """CPU seconds of a class: its threads and kernel helpers, without waiting for an intended start."""
    cpu = result.get("cpu") or {}
    if cpu.get("user_s") is None or cpu.get("kernel_s") is None:
        raise missing_utilisation()
    waiting, helpers = (figure["value"] if figure else 0.0 for figure in (cpu.get("wait_s"), cpu.get("helper_s")))
    return float(max(0.0, cpu["user_s"]["value"] + cpu["kernel_s"]["value"] + helpers - waiting))


def _warnings(status: str, cell: str, utilisation: float) -> list[str]:
    found = [f"the record of `{cell}` is suspect; see its verdict before buying by it"] if status == "suspect" else []
    if utilisation > 1:
        found.append(f"kernel helpers make the utilisation {utilisation:.2f} of the worker threads; it is taken as 1")
    return found
