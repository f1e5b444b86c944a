"""`assay fleet doctor`."""

from __future__ import annotations

from typing import Annotated

import typer

from assay.cli.flags import JsonFlag, On
from assay.cli.fleet.flags import Hosts, Keys, Listen, Local, Remote, Scheduler, Ssh


def doctor(
    on: On = None,
    local: Local = 0,
    hosts: Hosts = None,
    scheduler: Scheduler = "",
    keys: Keys = None,
    ssh: Ssh = "",
    listen: Listen = "",
    remote: Remote = "assay",
    yes: Annotated[bool, typer.Option("--yes", help="Send the measuring program where it is not, unasked.")] = False,
    json: JsonFlag = False,
) -> None:
    """Look at all hosts of a fleet before measuring: versions, the same program, clocks, each host's own doctor.

    Exit code 4 where a run would be refused, or something blocks on a host.
    """
    from assay.cli.fleet.running import Where, examine

    raise typer.Exit(examine(Where(local, hosts, scheduler, keys, ssh, listen, remote, yes), on or [], json))
