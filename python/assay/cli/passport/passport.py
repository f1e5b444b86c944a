"""`assay passport`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.flags import DryRun, Host, JsonFlag, Seed, Set

Target = Annotated[str, typer.Option("--on", metavar="TARGET", help="Folder on the volume, or twin:NAME.")]
Out = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="MODEL.passport by default; the badge beside it as .svg.")
]
Quick = Annotated[bool, typer.Option("--quick", help="Short windows, for a look; most runs will be suspect.")]
By = Annotated[str, typer.Option("--by", metavar="NAME", help="What you call yourself in it.")]
Volume = Annotated[
    str, typer.Option("--volume", metavar="TEXT", help="What the volume is, where nothing shows it: gp3, 6000 IOPS.")
]
Key = Annotated[Path | None, typer.Option("--key", metavar="FILE", help="A key other than your own; made if missing.")]
Source = Annotated[
    Path | None, typer.Option("--from", metavar="DIR", help="Make it of this result folder; measure nothing.")
]
Results = Annotated[Path | None, typer.Option("--results", metavar="DIR", help="Result folder.")]


def passport(
    context: typer.Context,
    on: Target = ".",
    out: Out = None,
    quick: Quick = False,
    by: By = "",
    volume: Volume = "",
    key: Key = None,
    source: Source = None,
    results: Results = None,
    settings: Set = None,
    host: Host = "",
    seed: Seed = 1,
    dry_run: DryRun = False,
    json: JsonFlag = False,
) -> None:
    """Measure a volume in two minutes, and write down what it does as one signed file and a badge.

    The file says which device it was and in which state: firmware, kind of volume, limits, initialised, cached,
    collected, percentiles, verdicts. It is signed by a key of yours, which is made on first use.
    """
    if context.invoked_subcommand is not None:
        return
    from assay.cli.passport.making import PassportFlags, make_passport

    order = PassportFlags(
        on=on,
        out=out,
        quick=quick,
        by=by,
        volume=volume,
        key=key,
        source=source,
        results=results,
        settings=tuple(settings or ()),
        host=host,
        seed=seed,
        dry_run=dry_run,
        json=json,
    )
    raise typer.Exit(make_passport(order))
