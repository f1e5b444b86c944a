"""`assay fit`: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def fit(
    source: Annotated[Path, typer.Option("--from", metavar="FILE.csv", help="A published grid of bandwidths.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE.toml", help="Where the kinds of access of a twin go.")
    ] = None,
    cite: Annotated[str, typer.Option("--cite", metavar="TEXT", help="Where the grid was published.")] = "",
    json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
) -> None:
    """Fit the model of interleaved memory to a published grid, and say how far off it is on points it did not see.

    The grid has the columns dimms, op, pattern, persist, access_bytes, threads, gib_per_s.
    For example: assay fit --from catalog/published/optane-pmem100-256g-1-2-modules.csv
    """
    from assay.cli import output
    from assay.error import DONE, NOT_POSSIBLE
    from assay.twin.fit_report import CERTIFIED, fit_file

    found = fit_file(source, cite)
    if out is not None:
        out.write_text(found["toml"], encoding="utf-8")
    if json:
        output.emit(found)
        raise typer.Exit(DONE if found["certified"] else NOT_POSSIBLE)
    for kind in found["kinds"]:
        held = kind["held_out"]
        unseen = "one set of modules only: nothing held out"
        if held is not None:
            unseen = f"held out: mean {held['mean']:.1%}, median {held['median']:.1%}, worst {held['worst']:.1%}"
        output.say(f"{kind['kind']:17} {kind['points']:3} points, median error {kind['error_median']:.1%}; {unseen}")
    if not found["certified"]:
        output.say(f"Not certified: a kind of access is missed by more than {CERTIFIED:.0%} in the median.")
        raise typer.Exit(NOT_POSSIBLE)
