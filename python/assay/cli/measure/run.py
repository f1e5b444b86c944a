"""`assay run`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.flags import (
    Baseline,
    Bound,
    Cache,
    Counting,
    Destroy,
    Drift,
    DryRun,
    Host,
    JsonFlag,
    Junit,
    Markdown,
    NoReport,
    On,
    Out,
    Pin,
    Seed,
    Serial,
    Set,
    _studies,
)


def run(
    study: Annotated[
        str, typer.Argument(metavar="STUDY|FILE", autocompletion=_studies, help="Name or TOML file.")
    ] = "",
    on: On = None,
    settings: Set = None,
    out: Out = None,
    profile: Annotated[str | None, typer.Option("--profile", help="Settings of the study file, such as quick.")] = None,
    repeats: Annotated[int | None, typer.Option("--repeats", min=1, help="How often each cell runs.")] = None,
    seed: Seed = 1,
    dry_run: DryRun = False,
    resume: Annotated[Path | None, typer.Option("--resume", metavar="DIR", help="Continue a run.")] = None,
    serial: Serial = None,
    yes_destroy: Destroy = False,
    host: Host = "",
    pin: Pin = None,
    counting: Counting = None,
    cache: Cache = None,
    baseline: Baseline = None,
    fail_if_slower: Bound = "",
    drift_at_most: Drift = "",
    junit: Junit = None,
    markdown: Markdown = None,
    yes: Annotated[bool, typer.Option("--yes", help="Write more than 50 GiB without being asked.")] = False,
    no_report: NoReport = False,
    json: JsonFlag = False,
) -> None:
    """Run a study, by name or file.

    A study is a declared matrix of scenarios, targets, paths and parameters; `assay list` shows the ready-made ones,
    those of engines and of tiers of memory among them. A record (records/CELL.json) in its place runs that cell again.
    """
    from assay.cli.measure.order import RunFlags, measure, proceed
    from assay.cli.results import gating
    from assay.study.consent import Consent

    if resume is not None:
        allowed, more = Consent(tuple(serial or ()), yes_destroy), (study, on, settings, out, pin, counting, cache)
        raise typer.Exit(proceed(resume, any(more), allowed, not no_report, json))
    order = RunFlags(
        study=study,
        on=on or ["."],
        settings=settings or [],
        out=out,
        profile=profile,
        repeats=repeats,
        seed=seed,
        dry_run=dry_run,
        serials=serial or [],
        yes_destroy=yes_destroy,
        host=host,
        report=not no_report,
        json=json,
        counting=counting,
        pins=pin or [],
        cache=cache,
        papers=gating.Papers(junit, markdown),
        baseline=gating.baseline(baseline) if baseline else None,
        bound=fail_if_slower,
        drift=drift_at_most,
        yes=yes,
    )
    from assay.cli.measure import rerun

    if rerun.is_record(study):
        raise typer.Exit(rerun.rerun(Path(study), json))
    raise typer.Exit(measure(order))
