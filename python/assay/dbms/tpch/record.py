"""What a pass leaves: its work record."""

from __future__ import annotations

import math
import statistics

from assay.dbms.cpus import taken
from assay.dbms.target import target_of
from assay.dbms.tpch.passes import Pass, QueryGround
from assay.record import WorkRecord
from assay.study.work import WorkDraft, check, figure
from assay.study.work.build import environment
from assay.study.work.judge import reason
from assay.untyped import Json

_KERNEL = "kernel-accounting"


def record(ground: QueryGround, one: Pass) -> WorkRecord:
    """The record of a pass."""
    order, engine, binary = ground.order, ground.engine, ground.binary
    draft = WorkDraft("database", engine.name, engine.version, "tpch")
    draft.settings = engine.settings()
    draft.parameters = {
        "scale": order.scale,
        "protocol": one.protocol,
        "queries": list(order.queries),
        "parameters": "validation" if order.seed is None else f"drawn with seed {order.seed}",
        "data_checked_by": ground.source,
        "answers_checked_by": ground.reference.source,
    }
    draft.parameters |= {name: words for name in ("warmed", "emptied") if (words := getattr(one, name))}
    draft.lies_on("data", one.place.name, one.place.folder, one.place.in_memory)
    for role, folder in (("temp", order.engine.temp), ("log", order.engine.wal), ("index", order.engine.index)):
        if folder is not None:
            draft.lies_on(role, str(folder), folder, target_of(binary, str(folder)).in_memory)
    draft.durability = "none (queries only read)"
    tsc_hz = float(environment(binary, []).get("cpu", {}).get("tsc_hz") or 0.0)
    seen = [sample for sample in one.samples.values() if sample.run is not None or sample.failure]
    draft.parts = [sample.part(engine.workers, tsc_hz) for sample in seen]
    draft.devices = one.counters.documents()
    draft.measured_s = sum(sample.run.seconds for sample in one.done if sample.run)
    draft.prepare_s = sum(ground.loaded.seconds.values())
    draft.figures = _figures(ground, one)
    draft.checks = _checks(ground, one)
    draft.reasons = _reasons(one)
    _lacking(draft, one)
    return draft.record(binary)


def _figures(ground: QueryGround, one: Pass) -> Json:
    runs, loaded = [sample.run for sample in one.done if sample.run], ground.loaded
    times = [run.seconds for run in runs]
    found: Json = {}
    if times:
        found = {
            "sum_s": figure(sum(times), "s", method="derived"),
            "mean_s": figure(statistics.fmean(times), "s", method="derived"),
            "geometric_mean_s": figure(math.exp(statistics.fmean(map(math.log, times))), "s", method="derived"),
            "cpu_s": figure(sum(run.cpu_s for run in runs), "s", method="rusage"),
            "device_read_bytes": figure(sum(run.read_bytes for run in runs), "bytes", method=_KERNEL),
        }
    found["database_bytes"] = figure(loaded.bytes, "bytes", method=_KERNEL)
    found |= {f"{role}_bytes": figure(size, "bytes", method=_KERNEL) for role, size in loaded.parts.items()}
    found |= {f"load_{phase}_s": figure(value, "s") for phase, value in loaded.seconds.items()}
    if one.cleared is not None:
        found["resident_bytes"] = figure(one.cleared.resident_after, "bytes", method=_KERNEL)
    return found


def _checks(ground: QueryGround, one: Pass) -> list[Json]:
    found = []
    for sample in one.samples.values():
        wrong = sample.failure or sample.wrong
        if sample.run is not None or sample.failure:
            rows = len(sample.run.rows) if sample.run else 0
            found.append(check(f"answer-{sample.query}", not wrong, wrong or f"{rows} rows, as they should be"))
        first, hash_ = ground.plans.get(sample.query, ("", ""))
        if sample.plan is not None and first and first != one.place.name:
            same = sample.plan.hash == hash_
            words = f"plan {sample.plan.hash}" + ("" if same else f", and {hash_} on {first}")
            found.append(check(f"plan-{sample.query}", same, words))
    return [*found, check("served", False, one.broke)] if one.broke else found


def _reasons(one: Pass) -> list[Json]:
    found = []
    if one.interrupted:
        evidence = "the run was interrupted; what was finished is kept"
        found.append(reason("interrupted", "suspect", evidence, "run it again"))
    runs = [sample.run for sample in one.done if sample.run]
    read = sum(run.read_bytes for run in runs)
    if one.protocol == "cold" and not one.place.in_memory and runs and read == 0:
        evidence = "the files were not in the page cache, and yet no byte came from a device for the engine"
        fix = "look what lies beneath the folder: another cache serves it, or its I/O is done by somebody else"
        found.append(reason("page-cache-served", "suspect", evidence, fix, device_bytes=read))
    device = sum(sample.device_bytes for sample in one.done)
    if device > 2 * read + 64e6:
        evidence = f"devices read {device / 1e6:,.0f} MB in the windows, {read / 1e6:,.0f} MB of them for the engine"
        fix = "stop the others, and run it again"
        found.append(reason("foreign-load", "suspect", evidence, fix, device_bytes=device))
    waits = [run.extra.get("queued_s") for run in runs]
    queued = sum(wait for wait in waits if wait is not None) if runs and None not in waits else None
    cpu = taken(one.counters.cpus, sum(run.cpu_s for run in runs), queued, one.counters.window_s)
    return [*found, cpu] if cpu is not None else found


def _lacking(draft: WorkDraft, one: Pass) -> None:
    if "adapter" in draft.settings:
        why = f"the adapter of {draft.subject} was {draft.settings['adapter']}"
        draft.lacks("a verified adapter", why, "hold its figures against the server's own tools before they are used")
    if one.protocol == "cold" and one.place.in_memory:
        why = f"{one.place.name} is {one.place.file_system}: its files are memory and cannot be evicted"
        draft.lacks("a cold page cache", why, "take a folder on a device; here only the engine's own cache was cold")
    if one.protocol == "hot-sharedbuffers" and not one.warmed:
        why = f"{draft.subject} has no buffer that can be filled by itself"
        draft.lacks("data in the engine's own buffer", why, "take --engine postgres; here queries ran once before")
    if one.done and all(sample.node is None for sample in one.done):
        draft.lacks("the plan node that dominates", f"{draft.subject} does not time its nodes", "take another engine")
    if not one.place.devices and not one.place.in_memory:
        why = "the kernel names no block device beneath the folder"
        draft.lacks("counters of the device", why, "take another folder")
