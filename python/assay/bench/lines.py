"""A turn of a published program with a command line of its own, and of our engine beside it: their records."""

from __future__ import annotations

import time
from pathlib import Path

from assay.binary import Binary
from assay.dbms.cpus import taken
from assay.dbms.target import Counters, names_of, target_of
from assay.record import WorkRecord
from assay.rivals.published import LineWork, Recipe
from assay.rivals.published.line import run
from assay.rivals.published.window import PrintedWindow
from assay.study.work import WorkDraft, check, figure, part, run_work
from assay.study.work import engine as engines
from assay.study.work import workload as workloads
from assay.target.target import parse
from assay.untyped import Json

ENGINE = "engine"
"""Our engine in tasks, as `assay engine` runs it: what such programs meet."""
TASKS = 32
READS = "reads"


def engine_record(
    workload: str, units: int, value_bytes: int, wish: engines.Wish, folder: Path, seed: int
) -> WorkRecord:
    """The record of our engine's load and window in a folder: TPC-C of so many warehouses, or reads of so many rows."""
    asked = workloads.ycsb(units, str(value_bytes)) if workload == READS else workloads.tpcc(units)
    document = engines.job(asked, wish, parse(str(folder)), {}, seed)
    return run_work(Binary.find(), [ENGINE], document)[0]


def rival_record(recipe: Recipe, work: LineWork, folder: Path) -> WorkRecord:
    """The record of a program's load and window: what it printed, and what the kernel counted meanwhile."""
    binary = Binary.find()
    where = target_of(binary, str(folder))
    counters, begun = Counters(names_of([where])), [time.monotonic()]

    def edge(begins: bool) -> None:
        if begins:
            counters.open()
            begun[0] = time.monotonic()
        else:
            counters.close(time.monotonic() - begun[0])

    window, about = run(recipe, work, folder, edge)
    return _record(recipe, work, where.folder, (window, about, counters), binary, where.in_memory)


def _record(
    recipe: Recipe,
    work: LineWork,
    folder: Path,
    seen: tuple[PrintedWindow, Json, Counters],
    binary: Binary,
    in_memory: bool = False,
) -> WorkRecord:
    window, about, counters = seen
    draft = WorkDraft("engine", recipe.name, " ".join(map(str, about["commits"].values())), work.workload)
    draft.settings = {
        "structure": work.structure.name,
        "compiler": str(about["compiler"]),
        "pool_bytes": work.pool_bytes,
    }
    draft.parameters = {"units": work.units, "threads": work.threads_given, "tasks": work.tasks_given}
    draft.lies_on("data", str(folder.parent), folder.parent, in_memory)
    draft.durability, draft.measured_s = recipe.durability, window.lasted_s
    draft.devices = counters.documents()
    draft.figures = figures(window)
    given_up = sum(one.given_up for one in window.seconds)
    draft.parts = [part(work.workload, {}, succeeded=window.done, empty=0)]
    draft.checks = [
        check("printed", not window.damaged, f"{window.damaged} lines of its table are damaged"),
        check("given-up", not given_up, f"{given_up} operations that it gave up"),
    ]
    _lacks(draft)
    if window.first is not None and window.last is not None:
        took = taken(counters.cpus, window.last.cpu_s - window.first.cpu_s, None, window.lasted_s)
        draft.reasons = [took] if took is not None else []
    return draft.record(binary)


def figures(window: PrintedWindow) -> Json:
    """Operations are the program's own count, the window's time is ours, CPU and bytes are the kernel's."""
    if window.first is None or window.last is None:
        return {}
    first, last, done = window.first, window.last, max(1, window.done)
    per_s = figure(window.done / max(window.lasted_s, 1e-9), "ops/s")
    found = {"ops_per_s": per_s, "succeeded_per_s": per_s}
    cpu_s = last.cpu_s - first.cpu_s
    moved = {"read": last.read_bytes - first.read_bytes, "written": last.written_bytes - first.written_bytes}
    printed = {"read": "read_bytes", "written": "written_bytes"}
    found["cpu_ns_per_op"] = figure(cpu_s * 1e9 / done, "ns", method="kernel-accounting")
    for name, size in moved.items():
        found[f"{name}_bytes"] = figure(size, "bytes", method="kernel-accounting")
        own = sum(getattr(one, printed[name]) for one in window.seconds)
        found[f"printed_{name}_bytes"] = figure(own, "bytes")
    return found


def _lacks(draft: WorkDraft) -> None:
    beside = "look at its neighbour's record"
    draft.lacks("latencies", "the program prints none that can be merged", beside)
    draft.lacks("steadiness", "its counts of single seconds are not judged", "take more repeats")
    draft.lacks("checks of its data", "the program has none after its window", beside)
    draft.lacks("a verdict on the machine's clock", "no thread of ours runs in the program", beside)
