"""`assay mount`: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.flags import JsonFlag

Over = Annotated[
    Path | None, typer.Option("--over", metavar="FOLDER", help="Where the files lie; DIR itself without it.")
]
Slow = Annotated[float, typer.Option("--slow", metavar="N", min=0.1, help="The drive's time passes N times as slowly.")]
Volatile = Annotated[
    bool, typer.Option("--volatile", help="Flushes do not reach FOLDER: a crash of this machine may lose them.")
]
Cut = Annotated[
    str, typer.Option("--cut", metavar="N|TIME|signal", help="Cut the power after N requests, at a time, at SIGUSR1.")
]
Status = Annotated[Path | None, typer.Option("--status", metavar="DIR", help="Say what is played there, or was.")]


def mount(
    drive: Annotated[str, typer.Argument(metavar="twin:NAME", help="A drive; `assay list twins`.")] = "",
    at: Annotated[Path | None, typer.Argument(metavar="DIR", help="Where it is mounted.")] = None,
    over: Over = None,
    slow: Slow = 1.0,
    seed: Annotated[int, typer.Option("--seed", help="Seed of all chance.")] = 1,
    passing: Annotated[bool, typer.Option("--pass", help="Play nothing: what FUSE alone costs here.")] = False,
    volatile: Volatile = False,
    cut: Cut = "",
    status: Status = None,
    json: JsonFlag = False,
) -> None:
    """Play a twin under any program: a folder that answers as a drive that is not here.

    It stays until it is unmounted (umount DIR) or told to end, and says then how late its answers were.
    """
    from assay.cli.twins.mounting import MountFlags, play, tell

    if status is not None:
        raise typer.Exit(tell(status, json))
    raise typer.Exit(play(MountFlags(drive, at, over, slow, seed, passing, volatile, cut), json))
