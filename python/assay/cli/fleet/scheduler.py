"""`assay fleet scheduler`."""

from __future__ import annotations

from typing import Annotated

import typer

from assay.cli.fleet.flags import Keys


def scheduler(
    listen: Annotated[
        str, typer.Option("--listen", metavar="ADDRESS", help="tls://HOST:PORT; port 0 takes a free one.")
    ],
    keys: Keys = None,
    pages: Annotated[
        int | None,
        typer.Option(
            "--pages", metavar="PORT", min=1, max=65535, help="Dask's live pages, on this port of 127.0.0.1 alone."
        ),
    ] = None,
) -> None:
    """Serve as the scheduler of a fleet until it is interrupted; prints its address.

    On anything but this machine alone it wants certificates, and speaks to nobody who has none of them. Whoever has an
    account on this machine can read the pages, which change nothing.
    """
    from assay.cli import output
    from assay.fleet import address, serve
    from assay.fleet.keys import SCHEDULER, Pair

    where = address.parse(listen, keys is not None)
    pair = Pair.of(keys, SCHEDULER) if keys is not None else None
    raise typer.Exit(serve.scheduler(where, pair, output.say, pages))
