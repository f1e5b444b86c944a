"""`assay fleet doctor`."""

from __future__ import annotations

import typer

from assay.cli.flags import Json, On
from assay.cli.fleet.flags import Hosts, Keys, Local, Scheduler


def doctor(
    on: On = None,
    local: Local = 0,
    hosts: Hosts = None,
    scheduler: Scheduler = "",
    keys: Keys = None,
    json: Json = False,
) -> None:
    """Look at all hosts of a fleet before measuring: versions, the same program, clocks, each host's own doctor.

    Exit code 4 where a run would be refused, or something blocks on a host.
    """
    from assay.cli.fleet.running import Where, examine

    raise typer.Exit(examine(Where(local, hosts, scheduler, keys), on or [], json))
