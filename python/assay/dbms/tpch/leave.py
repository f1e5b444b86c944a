"""What a run leaves: one work record per target and protocol."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assay.dbms.cpus import taken
from assay.dbms.target import target_of
from assay.dbms.tpch.contrast import Contrast, contrast
from assay.dbms.tpch.job import Job
from assay.dbms.tpch.passes import Pass
from assay.study.work import WorkDraft, check, figure
from assay.study.work.build import environment
from assay.study.work.judge import reason

Json = dict[str, Any]
# As the verdict noisy-machine has it.
SPREAD = 0.15


def record(job: Job, one: Pass, passes: Sequence[Pass], *, interrupted: bool) -> Json:
    """The record of a pass."""
    order, engine = job.order, job.engine
    draft = WorkDraft("database", engine.name, engine.version, "tpch")
    draft.settings = engine.settings()
    draft.parameters = {
        "scale": order.scale,
        "protocol": one.protocol,
        "queries": list(order.queries),
        "repeats": order.repeats,
        "parameters": "validation" if order.seed is None else f"drawn with seed {order.seed}",
        "data_checked_by": job.source,
        "answers_checked_by": job.reference.source if job.reference else "",
    }
    if one.warmed:
        draft.parameters["warmed"] = one.warmed
    if one.emptied:
        draft.parameters["emptied"] = one.emptied
    draft.lies_on("data", one.place.name, one.place.folder, one.place.in_memory)
    for role, target in (("temp", order.temp), ("log", order.wal), ("index", order.index)):
        if target:
            draft.lies_on(role, target, Path(target), target_of(job.binary, target).in_memory)
    draft.durability = "none (queries only read)"
    tsc_hz = float(environment(job.binary, []).get("cpu", {}).get("tsc_hz") or 0.0)
    draft.parts = [
        sample.part(engine.workers, tsc_hz) for sample in one.samples.values() if sample.runs or sample.failures
    ]
    draft.devices = one.counters.documents()
    draft.measured_s = sum(sum(sample.seconds) for sample in one.done)
    draft.prepare_s = sum(job.loaded.seconds.values()) if job.loaded else 0.0
    draft.figures = _figures(job, one)
    draft.checks = _checks(one, passes)
    draft.reasons = _reasons(one, interrupted=interrupted)
    _lacking(draft, one)
    compared = _first(one, passes)
    if compared is not None:
        _compare(draft, compared, one)
    return draft.record(job.binary)


def _figures(job: Job, one: Pass) -> Json:
    medians = [sample.median_s for sample in one.done]
    found: Json = {}
    if medians:
        cpu_s = sum(statistics.median(run.cpu_s for run in sample.runs) for sample in one.done)
        found = {
            "sum_s": figure(sum(medians), "s", method="derived"),
            "mean_s": figure(statistics.fmean(medians), "s", method="derived"),
            "geometric_mean_s": figure(math.exp(statistics.fmean(map(math.log, medians))), "s", method="derived"),
            "cpu_s": figure(cpu_s, "s", method="rusage"),
            "device_read_bytes": figure(sum(s.read_bytes for s in one.done), "bytes", method="kernel-accounting"),
        }
    if job.loaded is not None:
        found["database_bytes"] = figure(job.loaded.bytes, "bytes", method="kernel-accounting")
        for role, size in job.loaded.parts.items():
            found[f"{role}_bytes"] = figure(size, "bytes", method="kernel-accounting")
        found |= {f"load_{phase}_s": figure(value, "s") for phase, value in job.loaded.seconds.items()}
    if one.cleared is not None:
        found["resident_bytes"] = figure(one.cleared.resident_after, "bytes", method="kernel-accounting")
    return found


def _checks(one: Pass, passes: Sequence[Pass]) -> list[Json]:
    found = [
        check(f"answer-{s.query}", not s.wrong, s.wrong or f"{s.row_count} rows, as they should be")
        for s in one.done
        if s.judged
    ]
    first = next(other for other in passes if other.protocol == one.protocol)
    for name, sample in one.samples.items():
        if first is one or not sample.plans or not first.samples.get(name, sample).plans:
            continue
        own, theirs = sample.plans[-1].hash, first.samples[name].plans[-1].hash
        words = f"plan {own}" + ("" if own == theirs else f", and {theirs} on {first.place.name}")
        found.append(check(f"plan-{name}", own == theirs, words))
    return found


def _reasons(one: Pass, *, interrupted: bool) -> list[Json]:
    found = []
    if interrupted or one.broke:
        evidence = one.broke or "the run was interrupted; what was finished is kept"
        found.append(reason("interrupted", "suspect", evidence, "run it again"))
    read = sum(run.read_bytes for sample in one.done for run in sample.runs)
    if one.protocol == "cold" and not one.place.in_memory and one.done and read == 0:
        evidence = "the files were not in the page cache, and yet no byte came from a device for the engine"
        fix = "look what lies beneath the folder: another cache serves it, or its I/O is done by somebody else"
        found.append(reason("page-cache-served", "suspect", evidence, fix, device_bytes=read))
    device = sum(sample.device_bytes for sample in one.done)
    if device > 2 * read + 64e6:
        evidence = f"devices read {device / 1e6:,.0f} MB in the windows, {read / 1e6:,.0f} MB of them for the engine"
        found.append(
            reason("foreign-load", "suspect", evidence, "stop the others, and run it again", device_bytes=device)
        )
    cpu = _cpu_taken(one)
    if cpu is not None:
        found.append(cpu)
    wide = [sample for sample in one.done if len(sample.runs) > 1 and sample.spread > SPREAD]
    if wide:
        worst = max(wide, key=lambda sample: sample.spread)
        evidence = f"{len(wide)} of {len(one.done)} queries spread by over 15 %, {worst.query} by {worst.spread:.0%}"
        found.append(reason("noisy-machine", "suspect", evidence, "make the machine quiet, or take more repeats"))
    return found


def _cpu_taken(one: Pass) -> Json | None:
    runs = [run for sample in one.done for run in sample.runs]
    waits = [run.extra.get("queued_s") for run in runs]
    queued = sum(wait for wait in waits if wait is not None) if runs and None not in waits else None
    return taken(one.counters.cpus, sum(run.cpu_s for run in runs), queued, one.counters.window_s)


def _lacking(draft: WorkDraft, one: Pass) -> None:
    if "adapter" in draft.settings:
        reason_ = f"the adapter of {draft.subject} was {draft.settings['adapter']}"
        draft.lacks(
            "a verified adapter", reason_, "hold its figures against the server's own tools before they are used"
        )
    if one.protocol == "cold" and one.place.in_memory:
        reason_ = f"{one.place.name} is {one.place.file_system}: its files are memory and cannot be evicted"
        draft.lacks(
            "a cold page cache", reason_, "take a folder on a device; here only the engine's own cache was cold"
        )
    if one.protocol == "hot-sharedbuffers" and not one.warmed:
        reason_ = f"{draft.subject} has no buffer that can be filled by itself"
        draft.lacks("data in the engine's own buffer", reason_, "take --engine postgres; here queries ran once before")
    if one.done and all(sample.node is None for sample in one.done):
        draft.lacks("the plan node that dominates", f"{draft.subject} does not time its nodes", "take another engine")
    if not one.place.devices and not one.place.in_memory:
        draft.lacks(
            "counters of the device", "the kernel names no block device beneath the folder", "take another folder"
        )


def _first(one: Pass, passes: Sequence[Pass]) -> tuple[Pass, Contrast] | None:
    first = next(other for other in passes if other.protocol == one.protocol)
    found = None if first is one else contrast(first.times, one.times)
    return None if found is None else (first, found)


def _compare(draft: WorkDraft, compared: tuple[Pass, Contrast], one: Pass) -> None:
    first, found = compared
    draft.parameters["compared_with"] = first.place.name
    draft.parameters["compared_in_words"] = _words(found, first, one)
    draft.figures |= {
        "sum_of_first_ratio": figure(found.sum_ratio, "ratio", method="derived"),
        "geometric_mean_of_first_ratio": figure(found.geometric_mean_ratio, "ratio", method="derived"),
        "mean_speedup_ratio": figure(found.mean_speedup, "ratio", method="derived"),
    }
    lines = {line.name: line for line in found.queries}
    for part in draft.parts:
        if part["name"] in lines:
            part["facts"]["against_first"] = lines[part["name"]].words


def _words(found: Contrast, first: Pass, one: Pass) -> str:
    told = f"against {first.place.name}: {found.whole.words}"
    if "no difference" not in told:
        return told
    # Two devices that nobody asked for anything cannot differ: say how much they were used.
    used = [f"{_busy(side)} on {side.place.name}" for side in (first, one)]
    return f"{told}; the devices were busy {' and '.join(used)}"


def _busy(side: Pass) -> str:
    shares = [document["utilisation"]["value"] for document in side.counters.documents()]
    return f"{max(shares):.0%} of the time" if shares else "an unknown part of the time"
