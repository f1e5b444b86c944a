"""`assay dbms wtperf`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli.dbms.flags import Out
from assay.cli.dbms.resume import Resume, progress_of
from assay.cli.flags import Json


def _wtperf(context: typer.Context, given: dict[str, Any]) -> int:
    from assay.cli.dbms.other import run_wtperf, wanted_of

    progress, flags = progress_of(context, given, "wtperf", "wtperf")
    return run_wtperf(wanted_of(flags), progress)


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
