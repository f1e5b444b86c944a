"""`assay bench pmem`."""

from __future__ import annotations

import typer

from assay.cli.flags import JsonFlag


def pmem(json: JsonFlag = False) -> None:
    """Bandwidth of the pmem path on tmpfs beside fio's libpmem."""
    from assay.cli.parts import part

    raise typer.Exit(part("bench").run("pmem", json))
