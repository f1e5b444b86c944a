"""A run of wtperf: workloads on targets, with the page cache on, off and cold; repeats, records, and what differs."""

from __future__ import annotations

import contextlib
import shutil
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.binary import Binary
from assay.compare.correction import adjusted
from assay.dbms.target import Counters, Target, check_room, names_of, target_of
from assay.dbms.tpch.contrast import LEVEL, welch
from assay.dbms.workspace import Workspace
from assay.dbms.wtperf import job, parse
from assay.dbms.wtperf.build import Program
from assay.dbms.wtperf.distribution import distribution
from assay.error import BAD_JOB, FAILED, INTERRUPTED, AssayError
from assay.work import WorkDraft, check, figure, part, save
from assay.work.judge import reason
from assay.work.run import exit_code as judged

Json = dict[str, Any]
# A row of wtperf's is about 120 bytes; a run may write it again, and a copy of the filled database is measured.
BYTES_PER_ROW = 500
LEAST_BYTES = 500_000_000
SPREAD = 0.15


@dataclass(frozen=True)
class Order:
    """What was asked."""

    program: Program
    workloads: Sequence[job.Workload]
    on: Sequence[str]
    modes: Sequence[str] = job.MODES
    repeats: int = 1
    limit_s: float = 3600.0
    out: Path | None = None


@dataclass
class Cell:
    """One workload on one target in one mode."""

    workload: job.Workload
    where: Target
    mode: str
    counters: Counters
    runs: list[job.Measured] = field(default_factory=list)
    load_s: float | None = None

    def rates(self, kind: str) -> list[float]:
        """Operations of a kind per second, of every run."""
        found = [run.stat.executed.get(kind) for run in self.runs]
        return [one.per_s for one in found if one is not None and one.per_s]


@dataclass
class Outcome:
    """Records, and whether an interrupt ended it."""

    records: list[Json] = field(default_factory=list)
    interrupted: bool = False

    @property
    def exit_code(self) -> int:
        """As a process says it."""
        return INTERRUPTED if self.interrupted else judged(self.records) if self.records else FAILED


def run(order: Order, listen: Callable[[str], None] = lambda _: None) -> Outcome:
    """Runs all workloads on all targets. What is finished is kept."""
    wrong = [mode for mode in order.modes if mode not in job.MODES]
    if wrong:
        raise AssayError(f"the page cache cannot be `{wrong[0]}`", hint="it is on, off or cold", code=BAD_JOB)
    binary = Binary.find()
    targets = [target_of(binary, name) for name in order.on]
    need = max(_needed_bytes(workload) for workload in order.workloads)
    check_room([(where, need) for where in targets])
    cells = [
        Cell(workload, where, mode, Counters(names_of([where])))
        for workload in order.workloads
        for mode in order.modes
        for where in targets
    ]
    outcome = Outcome()
    with contextlib.ExitStack() as stack:
        spaces = {where.name: stack.enter_context(Workspace(where.folder)) for where in targets}
        try:
            for cell in cells:
                _measure(order, cell, spaces[cell.where.name], listen)
        except KeyboardInterrupt:
            outcome.interrupted = True
    for cell in cells:
        if cell.runs:
            document = _record(order, binary, cell, cells, outcome.interrupted)
            outcome.records.append(document)
            if order.out is not None:
                save(order.out, document)
    return outcome


def _needed_bytes(workload: job.Workload) -> int:
    rows = workload.option("icount")
    return int(rows) * BYTES_PER_ROW * 3 + LEAST_BYTES if rows.isdigit() else LEAST_BYTES


def _measure(order: Order, cell: Cell, space: Workspace, listen: Callable[[str], None]) -> None:
    folder = space.folder(f"{cell.workload.name}-{cell.mode}")
    listen(f"{cell.workload.name} on {cell.where.name}: filling")
    filled = job.fill(order.program, cell.workload, folder / "filled", cell.mode, order.limit_s)
    cell.load_s = filled.load_s
    for repeat in range(order.repeats):
        listen(f"{cell.workload.name} on {cell.where.name}: page cache {cell.mode}, {repeat + 1} of {order.repeats}")
        found = job.measure(
            order.program, cell.workload, folder / "filled", cell.where, cell.mode, cell.counters, order.limit_s
        )
        cell.runs.append(found)
    shutil.rmtree(folder, ignore_errors=True)


def _record(order: Order, binary: Binary, cell: Cell, cells: Sequence[Cell], interrupted: bool) -> Json:
    draft = WorkDraft("database", "wiredtiger", order.program.version, f"wtperf-{cell.workload.name}")
    draft.settings = {"options": list(cell.workload.settings), "file": cell.workload.file.name}
    draft.parameters = {"page_cache": cell.mode, "repeats": len(cell.runs)}
    draft.lies_on("data", cell.where.name, cell.where.folder, cell.where.in_memory)
    draft.durability = "as the workload's options say"
    draft.measured_s = sum(run.stat.run_s or 0.0 for run in cell.runs)
    draft.devices = cell.counters.documents()
    draft.parts = [found for kind in parse.KINDS if (found := _part(cell, kind)) is not None]
    draft.figures = _figures(cell)
    damaged = sum(one.damaged for run in cell.runs for one in run.latencies.values())
    draft.checks = [check("latency-files", damaged == 0, f"{damaged} lines that are none of a latency file's")]
    draft.reasons = _reasons(cell, interrupted)
    if cell.mode != "on" and cell.where.in_memory:
        why = f"{cell.where.name} is {cell.where.file_system}: its files are memory"
        draft.lacks("reads of a device", why, "take a folder on a device")
    _compare(draft, cell, cells)
    return draft.record(binary)


def _figures(cell: Cell) -> Json:
    whole = [sum(one.operations for one in run.stat.executed.values()) for run in cell.runs]
    rates = [count / (run.stat.run_s or 1.0) for count, run in zip(whole, cell.runs, strict=True)]
    median = statistics.median
    found = {
        "ops_per_s": figure(median(rates), "ops/s"),
        "cpu_s": figure(median(run.cpu_s for run in cell.runs), "s", method="rusage"),
        "device_read_bytes": figure(median(run.read_bytes for run in cell.runs), "bytes", method="rusage"),
        "device_written_bytes": figure(median(run.written_bytes for run in cell.runs), "bytes", method="rusage"),
    }
    if cell.load_s is not None:
        found["load_s"] = figure(cell.load_s, "s")
    return found


def _part(cell: Cell, kind: str) -> Json | None:
    rates = cell.rates(kind)
    if not rates:
        return None
    done = sum(run.stat.executed[kind].operations for run in cell.runs)
    figures = {"ops_per_s": figure(statistics.median(rates), "ops/s")}
    facts = {"ops_per_s_each": " ".join(f"{rate:.0f}" for rate in rates)}
    timed = parse.Latencies()
    for run in cell.runs:
        timed = timed.plus(run.latencies.get(kind, parse.Latencies()))
    found = part(kind, figures, succeeded=done, facts=facts)
    if timed.sampled:
        found["service"] = distribution(timed)
    return found


def _reasons(cell: Cell, interrupted: bool) -> list[Json]:
    found = []
    if interrupted:
        found.append(reason("interrupted", "suspect", "the run was interrupted; what was done is kept", "run it again"))
    read = sum(run.read_bytes for run in cell.runs)
    if cell.mode == "cold" and not cell.where.in_memory and read == 0:
        evidence = "the files were not in the page cache, and yet no byte came from a device"
        found.append(reason("page-cache-served", "suspect", evidence, "look what lies beneath the folder"))
    for kind in parse.KINDS:
        rates = cell.rates(kind)
        if len(rates) > 1 and max(rates) / min(rates) - 1 > SPREAD:
            evidence = f"{kind} operations per second spread by {max(rates) / min(rates) - 1:.0%} over the repeats"
            found.append(reason("noisy-machine", "suspect", evidence, "make the machine quiet, or take more repeats"))
            break
    return found


def _compare(draft: WorkDraft, cell: Cell, cells: Sequence[Cell]) -> None:
    """Against the first target, kind by kind; corrected over all kinds of all workloads of this mode."""
    mine = [one for one in cells if one.mode == cell.mode and one.runs]
    first = {one.workload.name: one for one in reversed(mine) if one.where.name == mine[0].where.name}
    pairs = [
        (one, first[one.workload.name], kind)
        for one in mine
        for kind in parse.KINDS
        if one.workload.name in first and one is not first[one.workload.name] and one.rates(kind)
        if first[one.workload.name].rates(kind)
    ]
    raw = [welch(base.rates(kind), one.rates(kind)) for one, base, kind in pairs]
    tested = [n for n, p in enumerate(raw) if p is not None]
    fixed = dict(zip(tested, adjusted([raw[n] or 0.0 for n in tested]), strict=True))
    for n, (one, base, kind) in enumerate(pairs):
        if one is not cell:
            continue
        ratio = statistics.median(one.rates(kind)) / statistics.median(base.rates(kind))
        entry = next(found for found in draft.parts if found["name"] == kind)
        entry["figures"]["of_first_ratio"] = figure(ratio, "ratio", method="derived")
        entry["facts"]["against_first"] = _words(ratio, fixed.get(n), base)
        draft.parameters["compared_with"] = base.where.name


def _words(ratio: float, p: float | None, base: Cell) -> str:
    told = f"{ratio:.2f}x the rate on {base.where.name}"
    if p is None:
        return f"{told}; not tested: it takes 3 runs on each side"
    return f"{told} (p = {p:.2g}){'' if p < LEVEL else ': no difference shown'}"
