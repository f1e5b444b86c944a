"""A run: load once on the first target, copy to each, drive, check, restore before the next repeat, compare."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.binary import Binary
from assay.dbms.ending import terminable
from assay.dbms.target import Target, check_room, target_of
from assay.dbms.tpcc.bench import Bench, Snapshot
from assay.dbms.tpcc.contrast import durable_writes_per_s, note
from assay.dbms.tpcc.files import AssayBench, SqliteBench
from assay.dbms.tpcc.order import RIVALS, Order
from assay.dbms.tpcc.rival import RivalBench
from assay.dbms.tpcc.stores import ExternalBench, PostgresBench
from assay.error import BAD_JOB, DONE, FAILED, INTERRUPTED, AssayError
from assay.work import save
from assay.work.run import exit_code as judged
from assay.work.run import run_work

Json = dict[str, Any]
Listener = Callable[[str], None]
_BENCHES: dict[str, Callable[[Order, Binary, Target], Bench]] = {
    "sqlite": SqliteBench,
    "postgres": PostgresBench,
    "assay": AssayBench,
    **dict.fromkeys(RIVALS, RivalBench),
}


@dataclass
class Outcome:
    """What came of it."""

    records: list[Json] = field(default_factory=list)
    loaded: Json | None = None
    interrupted: bool = False
    broke: str = ""

    @property
    def exit_code(self) -> int:
        """1 where a check failed or a run broke off; what was finished before is kept."""
        if self.interrupted:
            return INTERRUPTED
        return FAILED if self.broke or not self.records else judged(self.records) or DONE


def run(order: Order, out: Path, listen: Listener = lambda _: None) -> Outcome:
    """Does it all, and saves each record as it comes."""
    order.validate()
    binary = Binary.find()
    outcome = Outcome()
    if order.connect:
        bench = ExternalBench(order)
        try:
            _drive_all(order, binary, out, [bench], outcome, listen)
        finally:
            bench.remove()
        return outcome
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
        _drive_all(order, binary, out, benches, outcome, listen)
    for record in note(outcome.records, probes):
        save(out, record)
    return outcome


@contextlib.contextmanager
def _benches(order: Order, binary: Binary, targets: Sequence[Target]) -> Iterator[list[Bench]]:
    """One per target; what they made is removed in the end."""
    benches: list[Bench] = []
    try:
        for target in targets:
            benches.append(_BENCHES[order.engine](order, binary, target))  # noqa: PERF401  Those made so far are removed on failure.
        yield benches
    finally:
        for bench in benches:
            bench.remove()


def _drive_all(
    order: Order, binary: Binary, out: Path, benches: Sequence[Bench], outcome: Outcome, listen: Listener
) -> None:
    first = benches[0]
    outcome.loaded = load(order, binary, first, listen)
    if judged([outcome.loaded]):
        _keep(outcome.loaded, out, outcome)
        return
    snapshot = first.snapshot()
    try:
        for repeat in range(order.repeats):
            for bench in benches:
                listen(f"{bench.name}, run {repeat + 1} of {order.repeats}")
                record = drive(order, binary, bench, snapshot, listen)
                _keep(record, out, outcome)
                if any(reason["code"] == "interrupted" for reason in record["verdict"]["reasons"]):
                    raise KeyboardInterrupt
    except KeyboardInterrupt:
        outcome.interrupted = True
    except AssayError as error:
        if not outcome.records:
            raise
        outcome.broke = f"{error.message}; {error.hint}"
    finally:
        if snapshot is not None:
            snapshot.remove()


def load(order: Order, binary: Binary, bench: Bench, listen: Listener = lambda _: None) -> Json:
    """Fills a database and checks it; the record of that."""
    listen(f"loading {order.warehouses} warehouses on {bench.name}")
    return _work(binary, bench, order.job(bench.store(), bench.sites(), load=True, check=True), listen)


def drive(
    order: Order, binary: Binary, bench: Bench, snapshot: Snapshot | None, listen: Listener = lambda _: None
) -> Json:
    """One measured run on a database as it was loaded; its record."""
    if snapshot is not None:
        bench.restore(snapshot)
    with bench.running():
        more: Json = {"drive": order.drive(), "check": True, "server_pid": bench.server_pid()}
        if order.spoil is not None:
            more["spoil"] = order.spoil
        before = bench.engine_counts()
        record = _work(binary, bench, order.job(bench.store(), bench.sites(), **more), listen)
        bench.account(record, before)
    return record


def _keep(record: Json, out: Path, outcome: Outcome) -> None:
    outcome.records.append(record)
    save(out, record)


def _work(binary: Binary, bench: Bench, job: Json, listen: Listener) -> Json:
    def progress(event: Mapping[str, Any]) -> None:
        if event["event"] == "progress" and event["detail"]:
            listen(f"  {bench.name}: {event['detail']}")

    with bench.running(), bench.explained():
        job["order"]["server_pid"] = bench.server_pid()
        job["store"] = bench.store()
        return run_work(bench.program(binary), ["tpcc"], job, progress)[0]
