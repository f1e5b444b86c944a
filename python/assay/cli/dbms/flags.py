"""What the commands of `assay dbms` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Out = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Result folder.")]


_CONNECT = "A server that runs already (sqlserver, not verified against a server)."
Connect = Annotated[str, typer.Option("--connect", metavar="STRING", help=_CONNECT)]
HybridBufferPool = Annotated[
    str, typer.Option("--hybrid-buffer-pool", metavar="on|off", help="Of the server (sqlserver).")
]
Affinity = Annotated[str, typer.Option("--affinity", metavar="FIRST-LAST", help="CPUs of the server (sqlserver).")]
RecoveryInterval = Annotated[
    int | None, typer.Option("--recovery-interval", min=0, metavar="MINUTES", help="Between checkpoints (sqlserver).")
]
