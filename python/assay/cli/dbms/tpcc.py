"""`assay dbms tpcc`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.dbms.flags import Affinity, HybridBufferPool, Out, RecoveryInterval
from assay.cli.dbms.resume import Resume
from assay.cli.flags import DryRun, JsonFlag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from assay.record import WorkRecord


class TpccEngine(StrEnum):
    """Databases that run TPC-C."""

    SQLITE = "sqlite"
    POSTGRES = "postgres"
    ASSAY = "assay"
    LMDB = "lmdb"
    ROCKSDB = "rocksdb"
    WIREDTIGER = "wiredtiger"
    REDB = "redb"
    SQLSERVER = "sqlserver"


class TpccChoice(StrEnum):
    """Which warehouses terminals work for."""

    HOME = "home"
    UNIFORM = "uniform"
    ZIPF = "zipf"


Database = Annotated[TpccEngine, typer.Option("--engine", help="Which database.")]


Warehouses = Annotated[int, typer.Option("--warehouses", min=1, help="About 110 MB each.")]


Terminals = Annotated[int, typer.Option("--terminals", "--threads", min=1, help="Sessions.")]


Duration = Annotated[str, typer.Option("--duration", metavar="TIME", help="Of the window.")]


Ramp = Annotated[str, typer.Option("--ramp", metavar="TIME", help="Before it; a tenth of it.")]


On = Annotated[list[str] | None, typer.Option("--on", metavar="DIR", help="Folder; may be repeated.")]


Wal = Annotated[str, typer.Option("--wal", metavar="DIR", help="Folder of the log (postgres, assay, sqlserver).")]


Temp = Annotated[str, typer.Option("--temp", metavar="DIR", help="Folder of temporary files (postgres, sqlserver).")]


Index = Annotated[str, typer.Option("--index", metavar="DIR", help="Folder of the indexes (postgres).")]


Rate = Annotated[float | None, typer.Option("--rate", help="Transactions a second; else as fast as it goes.")]


Poisson = Annotated[bool, typer.Option("--poisson", help="With --rate: exponential gaps.")]


Think = Annotated[
    float | None, typer.Option("--think", metavar="FACTOR", help="Keying and think times; 1 as specified.")
]


Warehouse = Annotated[TpccChoice, typer.Option("--warehouse", help="Whom terminals work for.")]


Zipf = Annotated[float, typer.Option("--zipf", help="Exponent, with --warehouse zipf.")]


Mix = Annotated[str, typer.Option("--mix", metavar="LIST", help="Five shares; 45,43,4,4,4.")]


Isolation = Annotated[
    str, typer.Option("--isolation", metavar="LEVEL", help="read-committed, repeatable-read, serializable.")
]


Synchronous = Annotated[str, typer.Option("--synchronous", metavar="WHEN", help="full, normal or off (not postgres).")]


Repeats = Annotated[int, typer.Option("--repeats", min=1, help="Runs of each, restored before; 3 allow a test.")]


Seed = Annotated[int, typer.Option("--seed", help="Of the transactions.")]


Spoil = Annotated[
    int | None, typer.Option("--spoil", min=1, max=12, help="Break a consistency condition before the checks.")
]


Small = Annotated[bool, typer.Option("--small", help="A hundredth of each warehouse, to try things out.")]


Buffers = Annotated[str, typer.Option("--buffers", metavar="SIZE", help="The database's own cache.")]


PgBin = Annotated[Path | None, typer.Option("--pg-bin", metavar="DIR", help="Programs of PostgreSQL.")]


PgSet = Annotated[list[str] | None, typer.Option("--pg-set", metavar="NAME=VALUE", help="A setting of PostgreSQL.")]


Port = Annotated[int | None, typer.Option("--port", help="Listen there too; else on a socket alone.")]


FreezeCosts = Annotated[bool, typer.Option("--freeze-costs", help="Equal plans on every target.")]


Connect = Annotated[
    str, typer.Option("--connect", metavar="STRING", help="A server that runs already (postgres, sqlserver).")
]


External = Annotated[bool, typer.Option("--external", help="With --connect: Assay may work there.")]


def _run(context: typer.Context, given: dict[str, Any]) -> int:
    from assay.cli.short import ShortStudy, carry_out
    from assay.dbms.grant import Grant
    from assay.dbms.tpcc.runner import KIND, TpccRunner

    grant = Grant(given["pg_bin"], given["connect"], given["external"], tuple(given["pg_set"] or ()))
    asked = ShortStudy(
        name="tpcc",
        command="dbms tpcc",
        question="How many transactions does the database do on each target?",
        kind=KIND,
        runner=lambda: TpccRunner(grant),
        parts=("wal", "temp", "index"),
        columns=(),
        say=_say,
    )
    return carry_out(asked, {key: given[key] for key in context.params}, context)


def _say(records: Sequence[WorkRecord], console: Console) -> None:
    from assay.study.work import show

    for record in records:
        show(record, console)
    for record in records:
        if words := record["workload"]["parameters"].get("compared_in_words"):
            console.print(words, markup=False)
    console.print("TPC-C-like: not audited, and not to be compared with published TPC-C results.", markup=False)


def tpcc(
    context: typer.Context,
    engine: Database = TpccEngine.SQLITE,
    warehouses: Warehouses = 1,
    terminals: Terminals = 2,
    duration: Duration = "60s",
    ramp: Ramp = "",
    on: On = None,
    wal: Wal = "",
    temp: Temp = "",
    index: Index = "",
    rate: Rate = None,
    poisson: Poisson = False,
    think: Think = None,
    warehouse: Warehouse = TpccChoice.HOME,
    zipf: Zipf = 0.99,
    mix: Mix = "",
    isolation: Isolation = "read-committed",
    synchronous: Synchronous = "full",
    repeats: Repeats = 1,
    seed: Seed = 1,
    spoil: Spoil = None,
    small: Small = False,
    buffers: Buffers = "",
    pg_bin: PgBin = None,
    pg_set: PgSet = None,
    port: Port = None,
    freeze_costs: FreezeCosts = False,
    connect: Connect = "",
    external: External = False,
    hybrid_buffer_pool: HybridBufferPool = "",
    affinity: Affinity = "",
    recovery_interval: RecoveryInterval = None,
    out: Out = None,
    resume: Resume = None,
    dry_run: DryRun = False,
    json: JsonFlag = False,
) -> None:
    """Run TPC-C's five transactions on each target, with its twelve consistency conditions checked.

    For example: assay dbms tpcc --engine postgres --warehouses 10 --on /mnt/a --on /mnt/b --repeats 3
    """
    raise typer.Exit(_run(context, locals()))
