"""A run of wtperf: workloads on targets, with the page cache on, off and cold; repeats, records, and what differs."""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from assay.binary import Binary
from assay.dbms.cpus import taken
from assay.dbms.ending import terminable
from assay.dbms.progress import Progress
from assay.dbms.target import Counters, DatabaseTarget, check_room, names_of, target_of
from assay.dbms.workspace import Workspace
from assay.dbms.wtperf import job, parse
from assay.dbms.wtperf.distribution import distribution
from assay.error import BAD_JOB, FAILED, INTERRUPTED, AssayError
from assay.rivals.wiredtiger import Program
from assay.stats.correction import adjusted
from assay.stats.welch import LEVEL, welch
from assay.study.work import WorkDraft, check, figure, part, save
from assay.study.work.judge import reason
from assay.study.work.run import exit_code as judged

Json = dict[str, Any]
# A row of wtperf's is about 120 bytes; a run may write it again, and a copy of the filled database is measured.
BYTES_PER_ROW = 500
LEAST_BYTES = 500_000_000
SPREAD = 0.15


@dataclass(frozen=True)
class WtperfFlags:
    """What was asked."""

    program: Program
    workloads: Sequence[job.WtperfWorkload]
    on: Sequence[str]
    modes: Sequence[str] = job.MODES
    repeats: int = 1
    limit_s: float = 3600.0
    out: Path | None = None
    progress: Progress | None = None
    """Of a run that can go on; where there is none, records go to `out`."""


@dataclass
class WtperfCell:
    """One workload on one target in one mode."""

    workload: job.WtperfWorkload
    where: DatabaseTarget
    mode: str
    counters: Counters
    runs: list[job.Measured] = field(default_factory=list)
    load_s: float | None = None
    record: Json | None = None
    """As it was kept, once it is done."""

    def key(self) -> Json:
        """What names it among the steps of a run."""
        return {"workload": self.workload.name, "mode": self.mode, "target": self.where.name}

    def rates(self, kind: str) -> list[float]:
        """Operations of a kind per second, of every run."""
        if self.record is not None:
            parts = [one for one in self.record["parts"] if one["name"] == kind]
            return [float(word) for one in parts for word in one["facts"]["ops_per_s_each"].split()]
        found = [run.stat.executed.get(kind) for run in self.runs]
        return [one.per_s for one in found if one is not None and one.per_s]


@dataclass
class WtperfOutcome:
    """Records, and whether an interrupt ended it."""

    records: list[Json] = field(default_factory=list)
    interrupted: bool = False
    broke: str = ""
    goes_on: bool = False
    """Something was done, and something is left to do."""

    @property
    def exit_code(self) -> int:
        """As a process says it."""
        if self.interrupted:
            return INTERRUPTED
        return FAILED if self.broke or not self.records else judged(self.records)


def run(order: WtperfFlags, listen: Callable[[str], None] = lambda _: None) -> WtperfOutcome:
    """Runs all workloads on all targets. What is finished is kept."""
    wrong = [mode for mode in order.modes if mode not in job.MODES]
    if wrong:
        raise AssayError(f"the page cache cannot be `{wrong[0]}`", hint="it is on, off or cold", code=BAD_JOB)
    if order.progress is None and order.out is not None:
        order = replace(order, progress=Progress(order.out, "wtperf", {}))
    binary = Binary.find()
    targets = [target_of(binary, name) for name in order.on]
    need = max(_needed_bytes(workload) for workload in order.workloads)
    check_room([(where, need) for where in targets])
    cells = [
        WtperfCell(workload, where, mode, Counters(names_of([where])))
        for workload in order.workloads
        for mode in order.modes
        for where in targets
    ]
    outcome = WtperfOutcome()
    _take_up(order, cells)
    with contextlib.ExitStack() as stack, terminable():
        spaces = {where.name: stack.enter_context(Workspace(where.folder)) for where in targets}
        try:
            for cell in cells:
                if cell.record is None:
                    _measure(order, cell, spaces[cell.where.name], listen)
                    _leave(order, binary, cell, finished=True)
        except KeyboardInterrupt:
            outcome.interrupted = True
        except AssayError as error:
            if not any(cell.record is not None or cell.runs for cell in cells):
                raise
            outcome.broke = f"{error.message}; {error.hint}"
        for cell in cells:
            if cell.record is None and cell.runs:
                _leave(order, binary, cell, finished=False, stopped=outcome.broke or "the run was interrupted")
    _conclude(order, cells, outcome)
    return outcome


def _take_up(order: WtperfFlags, cells: Sequence[WtperfCell]) -> None:
    """Cells that were done before the run stopped have their records."""
    for cell in cells if order.progress is not None else ():
        step = order.progress.done(**cell.key()) if order.progress else None
        if step is not None and order.progress is not None:
            cell.record = order.progress.record(step)


def _leave(order: WtperfFlags, binary: Binary, cell: WtperfCell, *, finished: bool, stopped: str = "") -> None:
    cell.record = _record(order, binary, cell, stopped)
    if order.progress is not None:
        order.progress.keep(cell.record, finished=finished, **(cell.key() if finished else {}))


def _conclude(order: WtperfFlags, cells: Sequence[WtperfCell], outcome: WtperfOutcome) -> None:
    """Compares what there is, and keeps the records with that."""
    outcome.records = [cell.record for cell in cells if cell.record is not None]
    _compare(cells)
    progress = order.progress
    if progress is not None:
        for record in outcome.records:
            save(progress.folder, record)
        outcome.goes_on = bool(outcome.interrupted or outcome.broke)
        if not outcome.goes_on and not progress.ended:
            progress.end()


def _needed_bytes(workload: job.WtperfWorkload) -> int:
    rows = workload.option("icount")
    return int(rows) * BYTES_PER_ROW * 3 + LEAST_BYTES if rows.isdigit() else LEAST_BYTES


def _measure(order: WtperfFlags, cell: WtperfCell, space: Workspace, listen: Callable[[str], None]) -> None:
    folder = space.folder(f"{cell.workload.name}-{cell.mode}")
    listen(f"{cell.workload.name} on {cell.where.name}: filling")
    filled = job.fill(order.program, cell.workload, folder / "filled", cell.mode, order.limit_s)
    cell.load_s = filled.load_s
    for repeat in range(order.repeats):
        listen(f"{cell.workload.name} on {cell.where.name}: page cache {cell.mode}, {repeat + 1} of {order.repeats}")
        home = space.copy(folder / "filled", "run")
        found = job.measure(order.program, cell.workload, home, cell.where, cell.mode, cell.counters, order.limit_s)
        cell.runs.append(found)
        space.remove(home)
    space.remove(folder)


def _record(order: WtperfFlags, binary: Binary, cell: WtperfCell, stopped: str) -> Json:
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
    draft.reasons = _reasons(cell, stopped)
    if cell.mode != "on" and cell.where.in_memory:
        why = f"{cell.where.name} is {cell.where.file_system}: its files are memory"
        draft.lacks("reads of a device", why, "take a folder on a device")
    return draft.record(binary)


def _figures(cell: WtperfCell) -> Json:
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


def _part(cell: WtperfCell, kind: str) -> Json | None:
    rates = cell.rates(kind)
    if not rates:
        return None
    done = sum(run.stat.executed[kind].operations for run in cell.runs)
    figures = {"ops_per_s": figure(statistics.median(rates), "ops/s")}
    facts = {"ops_per_s_each": " ".join(f"{rate:.6g}" for rate in rates)}
    timed = parse.Latencies()
    for run in cell.runs:
        timed = timed.plus(run.latencies.get(kind, parse.Latencies()))
    found = part(kind, figures, succeeded=done, facts=facts)
    if timed.sampled:
        found["service"] = distribution(timed)
    return found


def _reasons(cell: WtperfCell, stopped: str) -> list[Json]:
    found = []
    if stopped:
        found.append(reason("interrupted", "suspect", f"{stopped}; what was done is kept", "go on with --resume"))
    read = sum(run.read_bytes for run in cell.runs)
    if cell.mode == "cold" and not cell.where.in_memory and read == 0:
        evidence = "the files were not in the page cache, and yet no byte came from a device"
        found.append(reason("page-cache-served", "suspect", evidence, "look what lies beneath the folder"))
    cpu = taken(cell.counters.cpus, sum(run.cpu_s for run in cell.runs), None, cell.counters.window_s)
    if cpu is not None:
        found.append(cpu)
    for kind in parse.KINDS:
        rates = cell.rates(kind)
        if len(rates) > 1 and max(rates) / min(rates) - 1 > SPREAD:
            evidence = f"{kind} operations per second spread by {max(rates) / min(rates) - 1:.0%} over the repeats"
            found.append(reason("noisy-machine", "suspect", evidence, "make the machine quiet, or take more repeats"))
            break
    return found


def _compare(cells: Sequence[WtperfCell]) -> None:
    """Each with the first target, kind by kind; corrected over all kinds of all workloads of a mode."""
    for mode in dict.fromkeys(cell.mode for cell in cells):
        mine = [one for one in cells if one.mode == mode and one.record is not None]
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
            _note(one, base, kind, fixed.get(n))


def _note(one: WtperfCell, base: WtperfCell, kind: str, p: float | None) -> None:
    if one.record is None or base.record is None:
        return
    ratio = statistics.median(one.rates(kind)) / statistics.median(base.rates(kind))
    entry = next(found for found in one.record["parts"] if found["name"] == kind)
    entry["figures"]["of_first_ratio"] = figure(ratio, "ratio", method="derived")
    entry["facts"]["against_first"] = _words(ratio, p, (one.record, base.record), base.where.name)
    one.record["workload"]["parameters"]["compared_with"] = base.where.name


def _words(ratio: float, p: float | None, records: tuple[Json, Json], base: str) -> str:
    told = f"{ratio:.2f}x the rate on {base}"
    if p is None:
        return f"{told}; not tested: it takes 3 runs on each side"
    if p < LEVEL:
        return f"{told} (p = {p:.2g})"
    # Devices that nobody asked for anything cannot differ: say how much they were used.
    mine, theirs = (_busy(record) for record in records)
    return f"{told} (p = {p:.2g}): no difference shown; the devices were busy {mine} here and {theirs} on {base}"


def _busy(record: Json) -> str:
    shares = [float(device["utilisation"]["value"]) for device in record["devices"]]
    return f"{max(shares):.0%} of the time" if shares else "an unknown part of the time"
