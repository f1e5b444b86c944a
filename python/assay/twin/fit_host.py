"""The host file of a fit: what each path costs on the machine that measured."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

from assay.record import Record
from assay.target.catalog import VERSION
from assay.twin.document import parameter
from assay.twin.fit_points import HOST, POINTS, cycles_per_op, factor, path_key, study_of
from assay.untyped import Json

_INCLUDED = "Not told apart: it is part of the cycles of an operation"
_BATCH = 16
# A point that is a load of the host as well.
_SAME = {"write depth 16": "write deep"}
# Paths whose every request goes to the device.
_RUNG = ("pread_direct", "libaio", "io_uring")


def twin_of(records: Sequence[Record]) -> Json | None:
    """The twin that stood for the device, where one did."""
    found = records[0]["job"]["targets"][0].get("twin")
    return dict(found) if found else None


def document(records: Sequence[Record], name: str, date: str) -> Json:
    """A host document from the records of a fit."""
    twin = twin_of(records)
    environment = records[0]["environment"]
    cpu = environment["cpu"]
    source = f"Measured by `assay fit` on {cpu['model'] or 'this machine'}"
    if twin is None:
        each = _threads_per_core()
        cores, clock = max(1.0, float(cpu["usable"]) / each), float(cpu["tsc_hz"])
    else:
        host = twin["host"]
        cores, each, clock = (host[key]["value"] for key in ("cores", "threads_per_core", "clock_hz"))
    return {
        "version": VERSION,
        "name": name,
        "title": f"{cpu['model'] or 'A machine'}, {cores:g} cores, as `assay fit` measured it",
        "cores": parameter(cores, "measured", source, date),
        "threads_per_core": parameter(each, "measured", source, date),
        "clock_hz": parameter(clock, "measured", source + ": the clock that cycles are counted in", date),
        "costs": costs(records, source, date),
    }


def _threads_per_core() -> float:
    path = Path("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list")
    try:
        text = path.read_text(encoding="ascii").strip()
    except OSError:
        return 1.0
    ends = [part.split("-") for part in text.split(",")]
    return float(sum(int(part[-1]) - int(part[0]) + 1 for part in ends))


def costs(records: Sequence[Record], source: str, date: str) -> Json:
    """Costs of every path that was measured in full."""
    seen = _cycles(records)
    flush, bell = _flush_cycles(records), _bell_cycles(records)
    found = {}
    for key in sorted({key for key, _ in seen}):
        loads = {load: cycles for (path, load), cycles in seen.items() if path == key}
        if "read 4KiB" in loads and "read 64KiB" in loads:
            found[key] = _cost(loads, flush, bell if key in _RUNG else 0.0, source, date)
    return found


def _cycles(records: Sequence[Record]) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], list[float]] = {}
    for record in records:
        load = factor(record, "load") if study_of(record) == HOST else _SAME.get(factor(record, "point"))
        if load:
            key = path_key(record["job"]["classes"][0]["path"])
            found.setdefault((key, load), []).append(cycles_per_op(record["classes"][0]))
    return {key: statistics.median(values) for key, values in found.items()}


def _flush_cycles(records: Sequence[Record]) -> float:
    """Cycles of a flush: a write with one, less a write without."""
    loads: dict[str, list[float]] = {}
    for record in records:
        name = factor(record, "point")
        if study_of(record) == POINTS and name in ("flush after 1 write", "flush after 1 MiB"):
            loads.setdefault(name, []).append(cycles_per_op(record["classes"][0]))
    if len(loads) < 2:
        return 0.0
    each, seldom = (statistics.median(loads[name]) for name in ("flush after 1 write", "flush after 1 MiB"))
    return max(0.0, (each - seldom) * 256 / 255)


def _bell_cycles(records: Sequence[Record]) -> float:
    """Cycles of a request that finds nothing in flight, on top of one that finds others: from threads that have one
    request in flight each. Of n threads one in n rings."""
    alone: dict[int, list[float]] = {}
    for record in records:
        if study_of(record) == POINTS and factor(record, "point") in ("threads 1", "threads twice the cores"):
            entry = record["classes"][0]
            alone.setdefault(int(record["job"]["classes"][0]["threads"]), []).append(cycles_per_op(entry))
    if len(alone) < 2:
        return 0.0
    few, many = min(alone), max(alone)
    saved = statistics.median(alone[few]) - statistics.median(alone[many])
    return max(0.0, saved) / (1 / few - 1 / many)


def _cost(loads: dict[str, float], flush: float, bell: float, source: str, date: str) -> Json:
    """Base and slope from 4 and 64 KiB; from one in flight against 16 what it takes to sleep and to wake the device;
    from batches of 16 against none what a submission costs."""
    alone = loads["read 4KiB"]
    told_apart = "one by one" in loads and "in batches" in loads
    deep = loads["one by one"] if told_apart else alone
    submission = max(0.0, deep - loads["in batches"]) * _BATCH / (_BATCH - 1) if told_apart else 0.0
    waking = max(0.0, alone - deep) * _BATCH / (_BATCH - 1) if told_apart else min(bell, 0.9 * alone)
    bell = min(bell, waking)
    sleep = waking - bell if told_apart else 0.0
    _, read_byte = _line(alone, loads["read 64KiB"])
    # However noisy the loads were, what is left is more than nothing.
    shared = submission + (waking / _BATCH if told_apart else waking)
    read = max(deep - shared - read_byte * 4096, 0.1 * deep)
    writes = "write 4KiB" in loads and "write 64KiB" in loads
    write, write_byte = _write(loads, read, shared) if writes else (read, read_byte)
    wrote = ("measured", source) if writes else ("assumed", "As of reads: nothing could be written")
    apart = ("measured", source + ", batches of 16 against none") if told_apart else ("assumed", _INCLUDED)
    flushed = ("measured", source) if flush else ("assumed", _INCLUDED)
    delay = "Not told apart: it is part of the device's delay, which was measured on this machine"
    found = {
        "cycles_per_read": parameter(read, "measured", source, date),
        "cycles_per_write": parameter(write, wrote[0], wrote[1], date),
        "cycles_per_byte_read": parameter(read_byte, "measured", source, date),
        "cycles_per_byte_write": parameter(write_byte, wrote[0], wrote[1], date),
        "cycles_per_submission": parameter(submission, apart[0], apart[1], date),
        "cycles_per_flush": parameter(flush, flushed[0], flushed[1], date),
        "wakeup_ns": parameter(0.0, "assumed", delay, date),
    }
    if sleep > 0:
        found["cycles_per_sleep"] = parameter(sleep, "measured", source + ", one in flight against 16", date)
    if bell > 0:
        found["cycles_per_bell"] = parameter(bell, "measured", source + ", threads with one in flight each", date)
    return found


def _write(loads: dict[str, float], read: float, shared: float) -> tuple[float, float]:
    """Cycles of a write of no bytes, and per byte: at the depth of `shared` where there are such writes, else as far
    from a read as one alone is from a read alone."""
    _, byte = _line(loads["write 4KiB"], loads["write 64KiB"])
    if "write deep" in loads:
        return max(loads["write deep"] - shared - byte * 4096, 0.1 * loads["write deep"]), byte
    return max(read + loads["write 4KiB"] - loads["read 4KiB"], 0.5 * read), byte


def _line(small: float, large: float) -> tuple[float, float]:
    """Cycles of an operation of no bytes, and per byte."""
    byte = max(0.0, (large - small) / (65536 - 4096))
    return max(1.0, small - byte * 4096), byte
