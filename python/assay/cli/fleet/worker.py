"""`assay fleet worker`."""

from __future__ import annotations

from typing import Annotated

import typer

from assay.cli.fleet.flags import Keys


def worker(
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="The scheduler's, such as tls://192.0.2.1:8786.")],
    name: Annotated[
        str, typer.Option("--name", metavar="HOST", help="What this host is called; its keys have that name.")
    ],
    listen: Annotated[
        str, typer.Option("--listen", metavar="HOST", help="Address of this host that the scheduler reaches.")
    ] = "",
    keys: Keys = None,
) -> None:
    """Measure on this host for a fleet until the scheduler is gone or it is interrupted; prints its address.

    It does named tasks of Assay for whoever has a certificate of the fleet, on folders, files, memory, null and twins.
    """
    from assay.cli import output
    from assay.document.identifier import Identifier
    from assay.fleet import address as addresses
    from assay.fleet import serve
    from assay.fleet.keys import Pair

    where = addresses.parse(address, keys is not None)
    host = Identifier.parse(name, "name of a host")
    # Without keys it listens where others do not reach it, whatever was typed.
    listen = listen or ("" if keys is not None else "127.0.0.1")
    if listen:
        addresses.parse(f"{where.scheme}://{listen}:0", keys is not None)
    pair = Pair.of(keys, host) if keys is not None else None
    raise typer.Exit(serve.worker(host, where, listen, pair, output.say))
