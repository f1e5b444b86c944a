"""A run: load once on the first target, copy to each, drive, check, restore before the next repeat, compare."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.binary import Binary
from assay.dbms.ending import terminable
from assay.dbms.progress import Progress
from assay.dbms.target import DatabaseTarget, check_room, target_of
from assay.dbms.tpcc.bench import Bench, ServerSnapshot
from assay.dbms.tpcc.contrast import durable_writes_per_s, note
from assay.dbms.tpcc.files import AssayBench, SqliteBench
from assay.dbms.tpcc.order import RIVALS, TpccFlags
from assay.dbms.tpcc.rival import RivalBench
from assay.dbms.tpcc.sqlserver import SqlServerBench
from assay.dbms.tpcc.stores import ExternalBench, PostgresBench
from assay.error import BAD_JOB, DONE, FAILED, INTERRUPTED, AssayError
from assay.study.work import save
from assay.study.work.run import exit_code as judged
from assay.study.work.run import run_work

Json = dict[str, Any]
Listener = Callable[[str], None]
_BENCHES: dict[str, Callable[[TpccFlags, Binary, DatabaseTarget], Bench]] = {
    "sqlite": SqliteBench,
    "postgres": PostgresBench,
    "assay": AssayBench,
    **dict.fromkeys(RIVALS, RivalBench),
    "sqlserver": SqlServerBench,
}


def bench_of(order: TpccFlags, binary: Binary, target: DatabaseTarget) -> Bench:
    """A new database of the order's engine on a target."""
    return _BENCHES[order.engine](order, binary, target)


@dataclass
class TpccOutcome:
    """What came of it."""

    records: list[Json] = field(default_factory=list)
    loaded: Json | None = None
    interrupted: bool = False
    broke: str = ""
    goes_on: bool = False
    """Something was done, and something is left to do."""

    @property
    def exit_code(self) -> int:
        """1 where a check failed or a run broke off; what was finished before is kept."""
        if self.interrupted:
            return INTERRUPTED
        return FAILED if self.broke or not self.records else judged(self.records) or DONE


def run(order: TpccFlags, out: Path | Progress, listen: Listener = lambda _: None) -> TpccOutcome:
    """Does it all, or what is left of a run that stopped, and saves each record as it comes."""
    order.validate()
    progress = out if isinstance(out, Progress) else Progress(out, "tpcc", {})
    outcome = TpccOutcome()
    if progress.ended:
        outcome.records = [progress.record(step) for step in progress.steps]
        return outcome
    binary = Binary.find()
    job = _Job(order, binary, progress, outcome, listen)
    if order.connect and order.engine == "postgres":
        bench = ExternalBench(order)
        try:
            with terminable():
                _drive_all(job, [bench])
        finally:
            bench.remove()
    else:
        _run_on_targets(job)
    complete = len(progress.steps) == order.repeats * max(1, len(order.on))
    if complete:
        progress.end()
    outcome.goes_on = not complete and bool(progress.steps)
    return outcome


@dataclass
class _Job:
    order: TpccFlags
    binary: Binary
    progress: Progress
    outcome: TpccOutcome
    listen: Listener


def _run_on_targets(job: _Job) -> None:
    order, binary = job.order, job.binary
    targets = [target_of(binary, name) for name in order.on]
    if len({target.folder for target in targets}) < len(targets):
        raise AssayError("one folder is named twice", hint="name each target once; repeats are --repeats", code=BAD_JOB)
    # Each target holds its copy and what runs add; the copy that is restored from lies on the first one.
    needs = [(target, order.data_bytes() * (2 if place == 0 else 1)) for place, target in enumerate(targets)]
    parts = [(target_of(binary, getattr(order, role)), order.part_bytes(role)) for role in order.apart()]
    check_room([*needs, *((part, size * (len(targets) + 1)) for part, size in parts)])
    several = targets if len(targets) > 1 else []
    with terminable(), _benches(order, binary, targets) as benches:
        probes = {target.name: durable_writes_per_s(target.folder) for target in several}
        _drive_all(job, benches)
    for record in note(job.outcome.records, probes):
        save(job.progress.folder, record)


@contextlib.contextmanager
def _benches(order: TpccFlags, binary: Binary, targets: Sequence[DatabaseTarget]) -> Iterator[list[Bench]]:
    """One per target; what they made is removed in the end."""
    benches: list[Bench] = []
    try:
        for target in targets:
            benches.append(bench_of(order, binary, target))  # noqa: PERF401  Those made so far are removed on failure.
        yield benches
    finally:
        # The last one first: each puts back what it found.
        for bench in reversed(benches):
            bench.remove()


def _drive_all(job: _Job, benches: Sequence[Bench]) -> None:
    """All runs that are not done yet; those that are count as they were."""
    first, outcome = benches[0], job.outcome
    cells = [(bench, repeat) for repeat in range(job.order.repeats) for bench in benches]
    left = []
    for bench, repeat in cells:
        step = job.progress.done(target=bench.name, repeat=repeat)
        if step is None:
            left.append((bench, repeat))
        else:
            outcome.records.append(job.progress.record(step))
    if len(left) < len(cells):
        job.listen(f"{len(cells) - len(left)} of {len(cells)} runs are done; loading the same data again")
    outcome.loaded = load(job.order, job.binary, first, job.listen)
    if judged([outcome.loaded]):
        _keep(job, outcome.loaded, finished=False)
        return
    snapshot = first.snapshot()
    try:
        for bench, repeat in left:
            job.listen(f"{bench.name}, run {repeat + 1} of {job.order.repeats}")
            record = drive(job.order, job.binary, bench, snapshot, job.listen)
            interrupted = any(reason["code"] == "interrupted" for reason in record["verdict"]["reasons"])
            _keep(job, record, finished=not interrupted, target=bench.name, repeat=repeat)
            if interrupted:
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        outcome.interrupted = True
    except AssayError as error:
        if not outcome.records:
            raise
        if error.code == INTERRUPTED:
            outcome.interrupted = True
        else:
            outcome.broke = f"{error.message}; {error.hint}"
    finally:
        if snapshot is not None:
            snapshot.remove()


def load(order: TpccFlags, binary: Binary, bench: Bench, listen: Listener = lambda _: None) -> Json:
    """Fills a database and checks it; the record of that."""
    listen(f"loading {order.warehouses} warehouses on {bench.name}")
    return _work(binary, bench, order.job(bench.store(), bench.sites(), load=True, check=True), listen)


def drive(
    order: TpccFlags, binary: Binary, bench: Bench, snapshot: ServerSnapshot | None, listen: Listener = lambda _: None
) -> Json:
    """One measured run on a database as it was loaded; its record."""
    if snapshot is not None:
        bench.restore(snapshot)
    with bench.running():
        if said := bench.listens():
            listen(said)
        more: Json = {"drive": order.drive(), "check": True, "server_pid": bench.server_pid()}
        if order.spoil is not None:
            more["spoil"] = order.spoil
        before = bench.engine_counts()
        record = _work(binary, bench, order.job(bench.store(), bench.sites(), **more), listen)
        bench.account(record, before)
    return record


def _keep(job: _Job, record: Json, *, finished: bool, **keys: Any) -> None:
    job.outcome.records.append(record)
    job.progress.keep(record, finished=finished, **keys)


def _work(binary: Binary, bench: Bench, job: Json, listen: Listener) -> Json:
    def progress(event: Mapping[str, Any]) -> None:
        if event["event"] == "progress" and event["detail"]:
            listen(f"  {bench.name}: {event['detail']}")

    with bench.running(), bench.explained():
        job["order"]["server_pid"] = bench.server_pid()
        job["store"] = bench.store()
        return run_work(bench.program(binary), ["tpcc"], job, progress)[0]
