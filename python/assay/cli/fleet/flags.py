"""Options of the commands of a fleet."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Local = Annotated[
    int,
    typer.Option(
        "--local", metavar="N", min=0, help="So many workers on this machine; as root each in a network of its own."
    ),
]
Hosts = Annotated[
    Path | None,
    typer.Option("--hosts", metavar="HOSTS.toml", help="Scheduler, keys, and the hosts with their targets."),
]
Scheduler = Annotated[
    str, typer.Option("--scheduler", metavar="tls://HOST:PORT", help="All workers of a scheduler that is there.")
]
Keys = Annotated[
    Path | None, typer.Option("--keys", metavar="DIR", help="Certificates; `assay fleet keys` makes them.")
]
Ssh = Annotated[
    str,
    typer.Option("--ssh", metavar="HOST,HOST,...", help="Start workers there over ssh; NAME=DESTINATION renames one."),
]
Listen = Annotated[
    str, typer.Option("--listen", metavar="ADDRESS", help="With --ssh: of this machine, where those hosts reach it.")
]
Remote = Annotated[
    str, typer.Option("--remote", metavar="PATH", help="With --ssh: the command `assay` on those hosts.")
]
