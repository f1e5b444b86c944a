"""`assay advise`: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.flags import JsonFlag


def advise(
    directory: Annotated[
        Path | None, typer.Argument(metavar="[DIR]", help="Result folder; the newest by default.")
    ] = None,
    attempt: Annotated[
        bool, typer.Option("--try", help="Run both sides of what is advised here, as pairs, and say what it brought.")
    ] = False,
    every: Annotated[
        bool, typer.Option("--all", help="Also rules that gain nothing here, or have no evidence.")
    ] = False,
    rules: Annotated[list[str] | None, typer.Option("--rule", metavar="RULE", help="Only this rule; repeated.")] = None,
    on: Annotated[
        str, typer.Option("--on", metavar="TARGET", help="Where --try runs; where the records are from.")
    ] = "",
    pairs: Annotated[int, typer.Option("--pairs", min=1, help="Pairs of each trial.")] = 12,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the order in which --try runs.")] = 1,
    json: JsonFlag = False,
) -> None:
    """Say what to change, by your own records.

    Rules of published studies, each with its source, your evidence, the gain to expect with a band, what it costs and
    how to check it. Without evidence nothing is advised.
    """
    from assay.cli.results.advising import AdviceFlags, show

    raise typer.Exit(show(AdviceFlags(directory, attempt, every, tuple(rules or ()), on, pairs, seed, json)))
