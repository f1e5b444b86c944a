"""`assay dbms wtperf`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.dbms.flags import Out
from assay.cli.dbms.resume import Resume
from assay.cli.flags import DryRun, JsonFlag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from assay.record import WorkRecord


def _run(context: typer.Context, given: dict[str, Any]) -> int:
    from assay.cli.short import ShortStudy, carry_out
    from assay.dbms.grant import Grant
    from assay.dbms.wtperf.runner import KIND, WtperfRunner

    files = tuple(path.resolve() for name in given["workloads"] or () if (path := Path(name)).is_file())
    settings = tuple(given["settings"] or ())
    grant = Grant(program=given["program"], command="wtperf", workloads=files, wt_set=settings)
    asked = ShortStudy(
        name="wtperf",
        command="dbms wtperf",
        question="How many operations does WiredTiger do on each target?",
        kind=KIND,
        runner=lambda: WtperfRunner(grant),
        parts=(),
        columns=("workload", "page_cache"),
        say=_say,
    )
    flags = {key: given[key] for key in context.params if key != "workloads"}
    flags["workload"] = given["workloads"] or ["small-btree"]
    flags["page_cache"] = [word.strip() for word in given["page_cache"].split(",") if word.strip()]
    return carry_out(asked, flags, context)


def _say(records: Sequence[WorkRecord], console: Console) -> None:
    from assay.study.work import show

    for record in records:
        console.print(f"page cache {record['workload']['parameters']['page_cache']}:", markup=False)
        show(record, console)
        for part in record["parts"]:
            if words := (part.get("facts") or {}).get("against_first"):
                console.print(f"  {part['name']}: {words}", markup=False)


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
    dry_run: DryRun = False,
    json: JsonFlag = False,
) -> None:
    """Run WiredTiger's own benchmark on each target, with the page cache on, off and cold.

    For example: assay dbms wtperf small-btree --on /mnt/a --on /mnt/b --repeats 3
    """
    raise typer.Exit(_run(context, locals()))
