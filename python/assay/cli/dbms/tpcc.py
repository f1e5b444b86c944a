"""`assay dbms tpcc`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.dbms.flags import Affinity, HybridBufferPool, Out, RecoveryInterval
from assay.cli.dbms.resume import Resume, progress_of
from assay.cli.flags import Json

if TYPE_CHECKING:
    from assay.dbms.tpcc.order import TpccFlags
    from assay.dbms.tpcc.run import TpccOutcome


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


def _order(flags: dict[str, Any]) -> TpccFlags:
    from assay.dbms.sqlserver.settings import from_flags
    from assay.dbms.tpcc.order import TpccFlags
    from assay.units.parse import parse_bytes, parse_seconds

    taken = dict(flags)
    del taken["json"]
    settings = [taken.pop(name) for name in ("hybrid_buffer_pool", "affinity", "recovery_interval")]
    duration, ramp, buffers = (taken.pop(name) for name in ("duration", "ramp", "buffers"))
    return TpccFlags(
        duration_s=parse_seconds(duration),
        ramp_s=parse_seconds(ramp) if ramp else None,
        buffers=int(parse_bytes(buffers)) if buffers else None,
        choice=taken.pop("warehouse"),
        on=taken.pop("on") or ["."],
        pg_bin=Path(name) if (name := taken.pop("pg_bin")) else None,
        pg_settings=tuple(taken.pop("pg_set") or ()),
        sqlserver=from_flags(*settings),
        **taken,
    )


def _run(context: typer.Context, given: dict[str, Any]) -> int:
    from dataclasses import replace

    from assay.cli import output
    from assay.cli.playing import played
    from assay.dbms.postgres.user import server_users
    from assay.dbms.tpcc.run import run

    progress, flags = progress_of(context, given, "tpcc", "tpcc")
    order = _order(flags)
    others = server_users() if order.engine == "postgres" else ()
    with played(order.on, order.seed, others, goes_on=bool(progress.steps)) as drives:
        outcome = run(replace(order, on=drives.on), progress, output.tell)
    drives.tell()
    drives.mark_files(progress.folder / "work")
    outcome.records = [drives.mark(record) for record in outcome.records]
    if flags["json"]:
        output.emit(outcome.records)
    else:
        _show(outcome)
        output.say(f"records in {progress.folder}/work")
    if outcome.broke:
        output.tell(f"error: {outcome.broke}")
    if outcome.goes_on:
        output.tell(f"go on with it: assay dbms tpcc --resume {progress.folder}")
    return outcome.exit_code


def _show(outcome: TpccOutcome) -> None:
    import sys

    from rich.console import Console

    from assay.cli import output
    from assay.study.work import show

    console = Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else 140)
    with output.to_reader():
        for record in outcome.records:
            show(record, console)
        for record in outcome.records:
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
    json: Json = False,
) -> None:
    """Run TPC-C's five transactions on each target, with its twelve consistency conditions checked.

    For example: assay dbms tpcc --engine postgres --warehouses 10 --on /mnt/a --on /mnt/b --repeats 3
    """
    raise typer.Exit(_run(context, locals()))
