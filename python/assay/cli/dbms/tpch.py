"""`assay dbms tpch`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.dbms.flags import Affinity, Connect, HybridBufferPool, Out, RecoveryInterval
from assay.cli.dbms.resume import Resume
from assay.cli.flags import DryRun, JsonFlag

if TYPE_CHECKING:
    from collections.abc import Mapping


class TpchEngine(StrEnum):
    """Databases that run TPC-H."""

    DUCKDB = "duckdb"
    POSTGRES = "postgres"
    SQLITE = "sqlite"
    SQLSERVER = "sqlserver"


_HOT = {"pagecache": "hot", "sharedbuffers": "hot-sharedbuffers"}


def _run(context: typer.Context, given: dict[str, Any]) -> int:
    from assay.cli.dbms.queries import show
    from assay.cli.short import ShortStudy, carry_out
    from assay.dbms.grant import Grant
    from assay.dbms.tpch.runner import KIND, TpchRunner

    pg_set = tuple(given["pg_set"] or ())
    grant = Grant(pg_bin=given["pg_bin"], connect=given["connect"], pg_set=pg_set, command="tpch")
    asked = ShortStudy(
        name="tpch",
        command="dbms tpch",
        question="How long do queries take on each target?",
        kind=KIND,
        runner=lambda: TpchRunner(grant),
        parts=("wal", "temp", "index"),
        columns=("protocol",),
        say=show,
    )
    flags = {key: given[key] for key in context.params if key not in ("cold", "hot", "hot_in", "seed", "data")}
    flags |= {"protocol": _protocols(given), "parameters_seed": given["seed"], "data_in": given["data"]}
    return carry_out(asked, flags, context)


def _protocols(given: Mapping[str, Any]) -> list[str]:
    from assay.error import BAD_JOB, AssayError, did_you_mean

    where = given["hot_in"]
    if where not in _HOT:
        raise AssayError(f"data cannot be hot in `{where}`", hint=did_you_mean(where, _HOT), code=BAD_JOB)
    both = given["cold"] == given["hot"]
    return [*(["cold"] if given["cold"] or both else []), *([_HOT[where]] if given["hot"] or both else [])]


def tpch(
    context: typer.Context,
    engine: Annotated[TpchEngine, typer.Option("--engine", help="Which database.")] = TpchEngine.DUCKDB,
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
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="Passes over the queries; 3 allow a test.")] = 1,
    seed: Annotated[
        int | None, typer.Option("--seed", min=1, help="Draws parameters; without it, those of the validation runs.")
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
    dry_run: DryRun = False,
    json: JsonFlag = False,
) -> None:
    """Run the 22 queries of TPC-H on each target, cold and hot, with every answer checked.

    For example: assay dbms tpch --scale 0.1 --on /mnt/a --on /mnt/b --repeats 3
    """
    raise typer.Exit(_run(context, locals()))
