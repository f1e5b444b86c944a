"""The conditions under which figures were taken, in words short enough for a caption."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from assay.record import Class, Dataset, Job, TargetFacts, WindowOutcome
from assay.results import labels
from assay.results.row import Row
from assay.units import show


def line(rows: Sequence[Row]) -> str:
    """Machine, device, file system, data, operation size, threads, cache and repeats."""
    if not rows:
        return ""
    jobs = [one.record["job"] for one in rows]
    parts = [
        _first(rows, lambda one: str(one.record["environment"].get("host") or "")),
        _first(rows, place),
        spread((_data(job) for job in jobs), show.block, "of data"),
        spread((one.asked.get("size") for one in rows), show.block, "operations"),
        spread((one.asked.get("threads") for one in rows), lambda value: f"{value:g}", "threads"),
        _cache(jobs),
        _repeats(rows),
    ]
    return ", ".join(part for part in parts if part)


def place(one: Row) -> str:
    """Device and file system that a row was measured on."""
    return " and ".join(dict.fromkeys(where(facts) for facts in one.record["environment"].get("targets") or ()))


def where(facts: TargetFacts) -> str:
    """Device and file system of one member of a target."""
    device, system = facts.get("device") or {}, facts.get("file_system") or {}
    name = str(device.get("name") or facts.get("path") or "?")
    return f"{system['kind']} on {name}" if system.get("kind") else name


def _first(rows: Sequence[Row], of: Callable[[Row], str]) -> str:
    found = list(dict.fromkeys(of(one) for one in rows))
    return found[0] if len(found) == 1 else f"{found[0]} and {len(found) - 1} more"


def spread(values: Iterable[Any], say: Callable[[float], str], noun: str) -> str:
    """One value, or the span of several."""
    found = sorted({float(value) for value in values if isinstance(value, (int, float)) and value})
    if not found:
        return ""
    noun = noun.removesuffix("s") if noun == "threads" and found == [1] else noun
    return f"{say(found[0])} {noun}" if len(found) == 1 else f"{say(found[0])} to {say(found[-1])} {noun}"


def _data(job: Job) -> float:
    return sum(float(entry.get("bytes") or 0) * int(entry.get("files") or 1) for entry in job.get("datasets") or ())


def _cache(jobs: Sequence[Job]) -> str:
    states = list(dict.fromkeys(str(job.get("cache") or "as-found") for job in jobs))
    return f"page cache {states[0]}" if len(states) == 1 else ""


def _repeats(rows: Sequence[Row]) -> str:
    count = len({one.cell.repeat for one in rows})
    return f"{count} repeats" if count > 1 else ""


def distinct(values: Iterable[Any]) -> str:
    """Distinct values, joined; the first few where there are many."""
    found = [str(value) for value in dict.fromkeys(values) if value not in (None, "")]
    return ", ".join(found[:8]) + (f" and {len(found) - 8} more" if len(found) > 8 else "")


def method(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """How a study was measured: what was asked for, over all of its cells."""
    jobs = [one.record["job"] for one in rows]
    asked = [one.asked for one in rows]
    windows = [one.record["window"] for one in rows]
    found = [
        ("Target", distinct(place(one) for one in rows)),
        ("Paths", distinct(one.path_label for one in rows)),
        ("Operations", distinct(_operation(one) for one in asked)),
        ("Sizes", distinct(labels.sizes(one.get("size")) for one in asked)),
        ("Threads and depth", distinct(f"{one.get('threads', 1)} x {one.get('depth', 1)}" for one in asked)),
        ("Arrivals", distinct(labels.arrivals(one.get("arrivals") or {}, one.get("think")) for one in asked)),
        ("Durability", distinct(labels.durability(one.get("durability") or {}) for one in asked)),
        ("Data", distinct(_dataset(entry) for job in jobs for entry in job.get("datasets") or ())),
        ("Page cache", distinct(job.get("cache") for job in jobs)),
        ("Window", distinct(_window(window) for window in windows)),
        ("Repeats", str(len({one.cell.repeat for one in rows}))),
        ("Seed", _seeds([job.get("seed") for job in jobs])),
        ("CPU cycles from", distinct(labels.METHODS.get(one.method("cycles_per_op"), "") for one in rows)),
        ("Counted", distinct(labels.COUNTED.get(one.counted_by, "") for one in rows)),
    ]
    return [(name, value) for name, value in found if value]


def _seeds(seeds: Sequence[Any]) -> str:
    found = list(dict.fromkeys(seeds))
    return str(found[0]) if len(found) == 1 else "one for each cell, in its record"


def _operation(asked: Class) -> str:
    return f"{labels.pattern(asked.get('pattern') or {})} {labels.operation(asked.get('operation') or {})}"


def _dataset(entry: Dataset) -> str:
    files = int(entry.get("files") or 1)
    count = f"{files} files of " if files > 1 else ""
    return f"{count}{show.block(float(entry.get('bytes') or 0))}, {entry.get('layout')}, {entry.get('content')} bytes"


def _window(window: WindowOutcome) -> str:
    warm, long = (show.duration(float(value or 0)) for value in (window.get("warmup_s"), window.get("measured_s")))
    return f"{long} after {warm} of warm-up, closed by {window.get('stop')}"
