"""`assay fleet attach`."""

from __future__ import annotations

import typer


def attach() -> None:
    """Stand by on this host for who opened the connection; `assay fleet run --ssh` calls it, and nobody else.

    Takes orders on standard input, certificates among them, which stay in memory; works until that input ends.
    """
    from assay.cli import output
    from assay.fleet import attach as attached

    raise typer.Exit(attached.attend(output.say))
