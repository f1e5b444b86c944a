"""`assay engine tiers`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.flags import Json


def tiers(
    study: Annotated[str, typer.Argument(metavar="NAME|FILE", help="A study of tiers.")] = "lessons-tiers",
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Result folder.")] = Path("results/engine-tiers"),
    seed: Annotated[int, typer.Option("--seed", help="Of everything that is left to chance.")] = 0,
    json: Json = False,
) -> None:
    """Compare where pages may lie that DRAM has no room for: policies, at several sizes of the pool.

    For example: assay engine tiers lessons-tiers
    """
    from assay.cli.engine.tiering import run_study

    raise typer.Exit(run_study(study, out, seed, json))
