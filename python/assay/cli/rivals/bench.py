"""`assay rivals bench`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.flags import DryRun, JsonFlag

Contests = Annotated[
    list[str] | None, typer.Option("--contest", metavar="NAME", help="Only this one; may be repeated.")
]


Rivals = Annotated[
    list[str] | None, typer.Option("--rival", metavar="NAME", help="Only this one, or postgres; may be repeated.")
]


Durability = Annotated[str, typer.Option("--durability", metavar="WHICH", help="Of the rivals: none, wal or fsync.")]


def bench(
    on: Annotated[
        Path | None,
        typer.Option("--on", metavar="DIR", help="Folder for the data; else this one, and /dev/shm for pm contests."),
    ] = None,
    contest: Contests = None,
    rival: Rivals = None,
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="Pairs of each.")] = 3,
    keys: Annotated[str, typer.Option("--keys", metavar="N", help="Entries of 128 bytes.")] = "1e6",
    threads: Annotated[
        list[int] | None,
        typer.Option("--threads", min=1, help="Threads, or terminals of TPC-C; may be repeated. 2 where none is said."),
    ] = None,
    duration: Annotated[str, typer.Option("--duration", metavar="TIME", help="Of a window.")] = "3s",
    warehouses: Annotated[int, typer.Option("--warehouses", min=1, help="Of TPC-C.")] = 2,
    durability: Durability = "none",
    seed: Annotated[int, typer.Option("--seed", help="Of keys, choices and the order of runs.")] = 1,
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Result folder.")] = None,
    dry_run: DryRun = False,
    json: JsonFlag = False,
) -> None:
    """Measure Assay's structures beside rivals: adjacent pairs in random order, ratios with intervals.

    For example: assay rivals bench --on /mnt/data --contest cold-lookups --rival rocksdb
    """
    from assay.cli.rivals.contests import ContestFlags, run_contests

    words = {"keys": keys, "duration": duration, "warehouses": warehouses, "durability": durability}
    asked = ContestFlags(contest or [], rival or [], words, threads or [2], repeats, on, out, seed, dry_run, json)
    raise typer.Exit(run_contests(asked))
