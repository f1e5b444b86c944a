"""What the commands of `assay index` share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from assay.cli.driver import DriverFlags

Keys = Annotated[str, typer.Option("--keys", metavar="N", help="Keys that are loaded first, such as 1e6 or 50M.")]
Duration = Annotated[str, typer.Option("--duration", metavar="TIME", help="Of the window; 5s, on a twin 20ms.")]
AsIf = Annotated[
    str, typer.Option("--as-if", metavar="twin:NAME", help="Wait as long as these modules would; labelled emulated.")
]
KeyBytes = Annotated[str, typer.Option("--key-bytes", metavar="N|N-M", help="Bytes of keys, 8 to 1024.")]
ValueBytes = Annotated[str, typer.Option("--value-bytes", metavar="N|N-M", help="Bytes of values, up to 16384.")]
Seed = Annotated[int, typer.Option("--seed", help="Seed of keys and choices.")]
Law = Annotated[
    str,
    typer.Option("--distribution", metavar="LAW", help="uniform, zipf[:0.99], self-similar[:0.2], latest[:0.99]."),
]
Warmup = Annotated[str, typer.Option("--warmup", metavar="TIME", help="Before the window; 0.5s, on a twin 1ms.")]
Batch = Annotated[
    int,
    typer.Option("--batch", metavar="N", min=1, max=256, help="Lookups of a thread that wait for the drive together."),
]


@dataclass(frozen=True)
class TwinFlags(DriverFlags):
    """Who runs an index on a twin, and what computing costs there."""

    cache: Annotated[
        str,
        typer.Option("--cache", metavar="BYTES", help="Its caches, of all cores together, before modules of a twin."),
    ] = ""
