"""The flags of who drives twins."""

# No annotations as texts here: they would be read where a dataclass inherits them.

from dataclasses import dataclass
from typing import Annotated

import typer

from assay.cli.flags import Host


@dataclass(frozen=True)
class DriverFlags:
    """A host of the catalog, and what computing costs on it."""

    host: Host = ""
    cores: Annotated[int | None, typer.Option("--cores", min=1, help="Cores of that host.")] = None
    clock: Annotated[float | None, typer.Option("--clock", metavar="GHZ", min=0.1, help="Its clock.")] = None
    turn: Annotated[
        str,
        typer.Option(
            "--turn",
            metavar="TIME|learn",
            help="CPU time of an operation or a turn on a twin; learnt here once without it, or anew.",
        ),
    ] = ""
