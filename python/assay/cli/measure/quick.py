"""`assay quick`."""

from __future__ import annotations

from typing import Annotated

import typer

from assay.cli.flags import DryRun, Host, JsonFlag, NoReport, On, Out, Seed, Set


def quick(
    targets: Annotated[
        list[str] | None, typer.Argument(metavar="[TARGET...]", help="Two or more are compared with each other.")
    ] = None,
    on: On = None,
    out: Out = None,
    settings: Set = None,
    host: Host = "",
    pairs: Annotated[int, typer.Option("--pairs", min=1, help="Of several targets: how often each is asked.")] = 12,
    margin: Annotated[
        str, typer.Option("--margin", help="Of several: differences up to this are of no matter.")
    ] = "5%",
    price: Annotated[
        list[str] | None, typer.Option("--price", metavar="TARGET=USD", help="Of several: dollars for a terabyte.")
    ] = None,
    seed: Seed = 1,
    dry_run: DryRun = False,
    no_report: NoReport = False,
    json: JsonFlag = False,
) -> None:
    """Measure the disk under a folder in five minutes, or say in three which of two is better.

    Of one target: runs small versions of the studies once, then twice more, in turns, what the short answer quotes;
    prints it and writes report.html. Of several (folders, files, twins, or earlier results): asks them the same in
    adjacent pairs in random order, and prints one table. Never takes more than a tenth of the free space.
    """
    named = [*(targets or []), *(on or [])]
    if len(named) > 1:
        from assay.cli.measure import versus

        several = versus.VersusFlags(
            on=tuple(named),
            out=out,
            settings=tuple(settings or ()),
            host=host,
            pairs=pairs,
            margin=margin,
            prices=tuple(price or ()),
            seed=seed,
            dry_run=dry_run,
            page=not no_report,
            json=json,
        )
        raise typer.Exit(versus.versus(several))
    from assay.cli.measure.order import RunFlags, measure

    order = RunFlags(
        study="quick",
        on=named or ["."],
        out=out,
        settings=settings or [],
        host=host,
        seed=seed,
        dry_run=dry_run,
        report=not no_report,
        json=json,
        judges=False,
        turns=True,
    )
    raise typer.Exit(measure(order))
