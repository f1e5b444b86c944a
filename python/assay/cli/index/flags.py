"""What the commands of `assay index` share."""

from __future__ import annotations

from typing import Annotated

import typer

Keys = Annotated[str, typer.Option("--keys", metavar="N", help="Keys that are loaded first, such as 1e6 or 50M.")]
Duration = Annotated[str, typer.Option("--duration", metavar="TIME", help="Of the window; 5s by default.")]
AsIf = Annotated[
    str, typer.Option("--as-if", metavar="twin:NAME", help="Wait as long as these modules would; labelled emulated.")
]
KeyBytes = Annotated[str, typer.Option("--key-bytes", metavar="N|N-M", help="Bytes of keys, 8 to 1024.")]
ValueBytes = Annotated[str, typer.Option("--value-bytes", metavar="N|N-M", help="Bytes of values, up to 16384.")]
Seed = Annotated[int, typer.Option("--seed", help="Seed of keys and choices.")]
