"""A run: load once, copy to each target, measure cold and hot, check every answer, compare."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from assay.binary import Binary
from assay.dbms import cold
from assay.dbms.ending import terminable
from assay.dbms.progress import Progress
from assay.dbms.target import Counters, check_room, names_of, read_requests, target_of
from assay.dbms.tpch import answers, check, data, engines, query, steps
from assay.dbms.tpch.engine import Emptied, Engine
from assay.dbms.tpch.job import Job, Listener
from assay.dbms.tpch.leave import record
from assay.dbms.tpch.order import COLD, HOT, HOT_BUFFERS, TpchFlags
from assay.dbms.tpch.passes import Pass
from assay.dbms.tpch.sample import Sample
from assay.dbms.workspace import Workspace
from assay.error import BAD_JOB, DONE, FAILED, INTERRUPTED, AssayError
from assay.study.work.run import exit_code as judged

Json = dict[str, Any]


@dataclass
class TpchOutcome:
    """What came of it."""

    records: list[Json] = field(default_factory=list)
    interrupted: bool = False
    broke: bool = False
    goes_on: bool = False
    """Something was done, and something is left to do."""

    @property
    def exit_code(self) -> int:
        """As a process says it: 1 where a check or a query failed, or the engine ended."""
        if self.interrupted:
            return INTERRUPTED
        failed = self.broke or not self.records or any(part["failed"] for one in self.records for part in one["parts"])
        return FAILED if failed else judged(self.records)


def run(order: TpchFlags, listen: Listener = lambda _: None) -> TpchOutcome:
    """Does it all, or what is left of it. What is finished is kept, also when it is interrupted."""
    outcome = TpchOutcome()
    order = _kept(order)
    if order.progress is not None and order.progress.ended:
        outcome.records = [order.progress.record(step) for step in order.progress.steps if "record" in step]
        return outcome
    binary = Binary.find()
    _refuse_twice(order.on)
    places = [target_of(binary, name) for name in order.on]
    engine = engines.make(order.engine)
    need = engine.needed_bytes(order.scale)
    text = 0 if order.files else data.needed_bytes(order.scale)
    # The second engine's copy lies on the first target while answers are checked.
    second = check.second_bytes(order)
    check_room([(where, need + (text + second if n == 0 else 0)) for n, where in enumerate(places)])
    with contextlib.ExitStack() as stack, terminable():
        spaces = [stack.enter_context(Workspace(where.folder)) for where in places]
        stack.callback(engine.close)
        try:
            _measure(Job(order, binary, places, spaces, engine, listen), outcome)
        except KeyboardInterrupt:
            outcome.interrupted = True
    return outcome


def _kept(order: TpchFlags) -> TpchFlags:
    if order.progress is None and order.out is not None:
        return replace(order, progress=Progress(order.out, "tpch", {}))
    return order


def _refuse_twice(on: Sequence[str]) -> None:
    if len({str(Path(one).resolve()) for one in on}) < len(on):
        raise AssayError("one folder is named twice", hint="name each target once; repeats are --repeats", code=BAD_JOB)


def _measure(job: Job, outcome: TpchOutcome) -> None:
    _prepare(job)
    passes = [
        Pass(where, folder, protocol, Counters(names_of([where])))
        for where, folder in zip(job.places, job.folders, strict=True)
        for protocol in job.order.protocols
    ]
    progress = job.order.progress
    if progress is not None:
        steps.restore(passes, progress.steps)
    try:
        for repeat in range(job.order.repeats):
            for one in passes:
                _once(job, one, repeat)
    except KeyboardInterrupt:
        outcome.interrupted = True
        job.engine.kill()
    except AssayError as error:
        job.engine.kill()
        if not any(one.done for one in passes):
            raise
        outcome.broke = True
        for one in passes:
            one.broke = one.broke or error.message
    _leave(job, passes, outcome)


def _leave(job: Job, passes: Sequence[Pass], outcome: TpchOutcome) -> None:
    """The records; those of a run that stopped are replaced when it goes on."""
    progress = job.order.progress
    outcome.goes_on = outcome.interrupted or outcome.broke
    for one in passes:
        if any(sample.runs or sample.failures for sample in one.samples.values()):
            document = record(job, one, passes, interrupted=outcome.interrupted)
            outcome.records.append(document)
            if progress is not None:
                progress.keep(document, finished=not outcome.goes_on)
    if progress is not None and not outcome.goes_on:
        progress.end()


def _prepare(job: Job) -> None:
    order, first = job.order, job.spaces[0]
    job.listen(f"data of scale factor {order.scale:g}")
    files = data.check(order.files, order.scale) if order.files else data.generate(first.folder("text"), order.scale)
    job.source = files.checked
    job.listen(f"loading into {job.engine.name}")
    job.folders.append(first.folder("data"))
    job.loaded = job.engine.load(files, job.folders[0])
    job.reference = check.reference(order, files, first, job.listen)
    if not order.files:
        first.remove(files.folder)
    for space in job.spaces[1:]:
        job.listen(f"copying to {space.target}")
        folder = space.folder("data")
        job.engine.copy(job.folders[0], folder)
        job.folders.append(folder)


def _once(job: Job, one: Pass, repeat: int) -> None:
    """Every query once on one target, but those that were run before the run stopped."""
    wanted = query.queries(job.engine.dialect, job.order.scale, job.order.queries, job.order.seed)
    progress = job.order.progress
    if progress is not None:
        wanted = [one_ for one_ in wanted if progress.done(**steps.key(one, repeat, one_.name)) is None]
    if not wanted:
        return
    job.listen(f"{one.protocol} on {one.place.name}, {repeat + 1} of {job.order.repeats}")
    if one.protocol != COLD:
        job.engine.start(one.folder)
        if one.protocol == HOT_BUFFERS:
            one.warmed = job.engine.warm()
    try:
        for statement in wanted:
            sample = one.samples.setdefault(statement.name, Sample(statement.name))
            failure = ""
            try:
                _query(job, one, statement, sample)
            except engines.QueryError as error:
                failure = error.message
                sample.failures.append(failure)
                job.engine.stop()
                if one.protocol != COLD:
                    job.engine.start(one.folder)
            if progress is not None:
                progress.add(steps.step(one, repeat, sample, failure))
    finally:
        job.engine.stop()


def _query(job: Job, one: Pass, statement: query.Query, sample: Sample) -> None:
    engine = job.engine
    if one.protocol == COLD:
        _make_cold(job, one)
    else:
        engine.run(statement.sql)  # Not counted: it brings the data near.
    sample.plans.append(engine.plan(statement.sql))
    one.counters.open()
    begun = time.monotonic()
    found = engine.run(statement.sql)
    requests, moved, busy_s = read_requests(one.counters.close(time.monotonic() - begun))
    sample.device_requests += requests
    sample.device_bytes += moved
    sample.device_busy_s += busy_s
    sample.runs.append(found)
    if not sample.checked:
        sample.wrong = sample.wrong or _judge(job, statement, found.rows)
        sample.checked = sample.judged = True
        sample.first_rows, sample.row_count = found.rows, len(found.rows)
    elif found.rows and not sample.wrong:
        sample.wrong = answers.difference(found.rows, sample.first_rows)
    if len(sample.runs) == 1:
        # The node is of a run on warm data: what one protocol found on a target holds for the other.
        sample.node = job.nodes.get((one.folder, statement.name)) or engine.profile(statement.sql)
        job.nodes[one.folder, statement.name] = sample.node


def _make_cold(job: Job, one: Pass) -> None:
    engine = job.engine
    if job.order.engine.evict and isinstance(engine, Emptied):
        one.emptied = engine.empty(one.folder)
        _clear(engine, one)
        return
    engine.stop()
    _clear(engine, one)
    engine.start(one.folder)


def _clear(engine: Engine, one: Pass) -> None:
    folders = [path for path in engine.folders(one.folder) if not one.place.in_memory]
    if folders:
        one.cleared = cold.clear(folders)


def _judge(job: Job, statement: query.Query, rows: Sequence[answers.Row]) -> str:
    """How an answer is wrong; empty where it is right."""
    wrong = answers.misordered(statement.number, rows)
    if wrong or job.reference is None:
        return wrong
    return job.reference.judge(statement.name, rows)


__all__ = ["COLD", "DONE", "HOT", "HOT_BUFFERS", "TpchFlags", "TpchOutcome", "run"]
