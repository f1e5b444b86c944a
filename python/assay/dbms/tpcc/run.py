"""A run on a database: load it, drive it, check it, restore it before the next one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from assay.binary import Binary
from assay.dbms.target import DatabaseTarget
from assay.dbms.tpcc.bench import Bench, ServerSnapshot
from assay.dbms.tpcc.files import AssayBench, SqliteBench
from assay.dbms.tpcc.order import RIVALS, TpccFlags
from assay.dbms.tpcc.rival import RivalBench
from assay.dbms.tpcc.sqlserver import SqlServerBench
from assay.dbms.tpcc.stores import PostgresBench
from assay.record import WorkRecord
from assay.study.work.run import run_work
from assay.untyped import Json

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


def load(order: TpccFlags, binary: Binary, bench: Bench, listen: Listener = lambda _: None) -> WorkRecord:
    """Fills a database and checks it; the record of that."""
    listen(f"loading {order.warehouses} warehouses on {bench.name}")
    return _work(binary, bench, order.job(bench.store(), bench.sites(), load=True, check=True), listen)


def drive(
    order: TpccFlags, binary: Binary, bench: Bench, snapshot: ServerSnapshot | None, listen: Listener = lambda _: None
) -> WorkRecord:
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


def _work(binary: Binary, bench: Bench, job: Json, listen: Listener) -> WorkRecord:
    def progress(event: Mapping[str, Any]) -> None:
        if event["event"] == "progress" and event["detail"]:
            listen(f"  {bench.name}: {event['detail']}")

    with bench.running(), bench.explained():
        job["order"]["server_pid"] = bench.server_pid()
        job["store"] = bench.store()
        return run_work(bench.program(binary), ["tpcc"], job, progress)[0]
