"""`assay bench fio`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.flags import JsonFlag, Seed
from assay.error import BAD_JOB, AssayError


def fio(
    agree: Annotated[
        bool, typer.Option("--agree", help="Compare rate and latencies instead, in paired turns.")
    ] = False,
    on: Annotated[Path, typer.Option("--on", metavar="DIR", help="Folder of the file that both use.")] = Path(),
    pairs: Annotated[int, typer.Option("--pairs", min=2, max=1000, help="Pairs of turns of a cell.")] = 5,
    seconds: Annotated[float, typer.Option("--seconds", min=0.2, max=600, help="Length of a turn.")] = 1.0,
    seed: Seed = 1,
    json: JsonFlag = False,
) -> None:
    """CPU cycles per operation and throughput beside fio's, same file, same engine and depth.

    With --agree: rate, mean, median and 99th percentile at depths 1 to 128, and what of it differs.
    """
    from assay.cli.parts import part

    bench = part("bench")
    if not agree:
        raise typer.Exit(bench.run("fio", json))
    if not on.is_dir():
        raise AssayError(f"{on} is no folder", hint="name one with --on", code=BAD_JOB)
    raise typer.Exit(bench.tell("agree", bench.agree(pairs, seconds, str(on), seed), json))
