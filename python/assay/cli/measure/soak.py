"""`assay soak`: a process that works on an index or the engine is killed, again and again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.executors import Keys, Scheduler, Workers
from assay.study.work.engine import CommitDurability
from assay.study.work.index import INDEXES

_ENGINE = "engine"
_STORES = (*INDEXES, _ENGINE)


def soak(
    store: Annotated[
        str, typer.Argument(metavar="INDEX|engine", autocompletion=lambda: _STORES, help="Who is killed.")
    ],
    on: Annotated[Path, typer.Option("--on", metavar="DIR", help="Folder for its files.")] = Path(),
    kills: Annotated[int, typer.Option("--kills", min=1, help="How often the process is killed.")] = 20,
    threads: Annotated[int, typer.Option("--threads", min=1, max=64, help="Threads that work.")] = 2,
    keys: Annotated[int, typer.Option("--keys", min=1, help="Keys of each thread, a power of two.")] = 1024,
    durability: Annotated[
        CommitDurability, typer.Option("--durability", help="Of the engine.")
    ] = CommitDurability.FDATASYNC,
    log: Annotated[Path | None, typer.Option("--log", metavar="DIR", help="Folder for the engine's log.")] = None,
    pmem: Annotated[
        Path | None, typer.Option("--pmem", metavar="DIR", help="Persistent memory for the end of the engine's log.")
    ] = None,
    logs: Annotated[int | None, typer.Option("--logs", metavar="N", min=1, max=8, help="The engine's logs.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the moments at which it is killed.")] = 1,
    workers: Workers = 0,
    scheduler: Scheduler = "",
    certificates: Keys = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
) -> None:
    """Kill a process that works on an index or the engine, and check that what it acknowledged is there.

    For example: assay soak engine --on /mnt/a --kills 1000. Files are made in a folder of Assay's own and removed;
    where something is lost they stay, and the exit code is 1. Workers have a store each and share the kills.
    """
    from assay.cli import executors
    from assay.cli.measure.soaking import run
    from assay.soak.rounds import SoakOrder

    places = {role: str(place) for role, place in (("place", on), ("log", log), ("tail", pmem)) if place is not None}
    order = SoakOrder(store, places, durability.value, logs, threads, keys, kills, seed)
    raise typer.Exit(run(order, _STORES, executors.ExecutorWish(workers, scheduler, certificates), json))
