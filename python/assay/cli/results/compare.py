"""`assay compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.flags import (
    Baseline,
    Bound,
    Destroy,
    Drift,
    DryRun,
    JsonFlag,
    Junit,
    Markdown,
    On,
    Seed,
    Serial,
    Set,
    UndecidedFails,
)

Setting = "KEY=VALUE"


Metric = Annotated[
    list[str] | None, typer.Option("--metric", metavar="NAME", help="Compare this figure only; may be repeated.")
]


def compare(
    sides: Annotated[
        list[str] | None, typer.Argument(metavar="[A B]", help="Result folders, cells as FOLDER/CELL, or passports.")
    ] = None,
    inside: Annotated[Path | None, typer.Option("--in", metavar="DIR", help="Folder of the cells A and B.")] = None,
    study: Annotated[str, typer.Option("--study", metavar="STUDY", help="Run both sides as pairs of this study.")] = "",
    on: On = None,
    a: Annotated[list[str] | None, typer.Option("--a", metavar=Setting, help="Setting of side A alone.")] = None,
    b: Annotated[list[str] | None, typer.Option("--b", metavar=Setting, help="Setting of side B alone.")] = None,
    settings: Set = None,
    profile: Annotated[str | None, typer.Option("--profile", help="Settings of the study file, such as quick.")] = None,
    pairs: Annotated[int, typer.Option("--pairs", min=1, help="Pairs to run; settled before the first.")] = 20,
    seed: Seed = 1,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder of the pairs or of the page.")
    ] = None,
    dry_run: DryRun = False,
    resume: Annotated[Path | None, typer.Option("--resume", metavar="DIR", help="Continue interrupted pairs.")] = None,
    as_is: Annotated[bool, typer.Option("--as-is", help="Judge the pairs there are; no more will be run.")] = False,
    aa: Annotated[bool, typer.Option("--aa", help="Run one side against itself: what can be seen.")] = False,
    metric: Metric = None,
    margin: Annotated[str, typer.Option("--margin", help="Differences up to this are of no matter.")] = "2%",
    correction: Annotated[str, typer.Option("--correction", metavar="holm|bh", help="For many comparisons.")] = "holm",
    drift_at_most: Drift = "",
    fail_if_slower: Bound = "",
    undecided_fails: UndecidedFails = False,
    serial: Serial = None,
    yes_destroy: Destroy = False,
    baseline: Baseline = None,
    junit: Junit = None,
    markdown: Markdown = None,
    no_page: Annotated[bool, typer.Option("--no-page", help="Write no compare.html.")] = False,
    json: JsonFlag = False,
) -> None:
    """Compare two sides: different, equivalent, or undecided.

    Folders and cells are compared as they are; with --study both sides are run as adjacent pairs in random order.
    """
    from assay.cli.results import comparing, gating

    sides = [*([str(gating.baseline(baseline))] if baseline else []), *(sides or [])]
    asked = comparing.AskedSides(
        metrics=tuple(metric or ()),
        margin=margin,
        correction=correction,
        drift=drift_at_most,
        fail_if_slower=fail_if_slower,
        undecided_fails=undecided_fails,
        as_is=as_is,
        page=not no_page,
        out=out,
        json=json,
        papers=gating.Papers(junit, markdown),
    )
    order = comparing.ComparisonFlags(
        study=study or ("aa" if aa else ""),
        on=tuple(on or ()),
        a=tuple(a or ()),
        b=tuple(b or ()),
        settings=tuple(settings or ()),
        profile=profile,
        pairs=pairs,
        seed=seed,
        dry_run=dry_run,
        serials=tuple(serial or ()),
        yes_destroy=yes_destroy,
    )
    raise typer.Exit(comparing.compare(tuple(sides), inside, order, resume, aa, asked))
