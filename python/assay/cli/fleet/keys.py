"""`assay fleet keys`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def keys(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Where they lie; made where it is not there.")],
    host: Annotated[list[str] | None, typer.Option("--host", metavar="NAME", help="A host; give it for each.")] = None,
    days: Annotated[int, typer.Option("--days", min=1, max=3650, help="How long they are valid.")] = 365,
) -> None:
    """Make certificates for a fleet: an authority of its own, and a pair for each host.

    What is there stays: call it again to add a host. Each host needs ca.pem, NAME.pem and NAME.key; ca.key stays here.
    """
    from assay.cli import output
    from assay.fleet import keys as pairs

    made = pairs.make(directory, host or [], days)
    for path in made:
        output.say(str(path))
    if not made:
        output.tell("all of them are there already")
