"""`assay passport verify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.flags import JsonFlag


def verify(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Passports.")],
    key: Annotated[
        str, typer.Option("--key", metavar="KEY", help="Who must have signed: public key or fingerprint.")
    ] = "",
    twin: Annotated[
        str, typer.Option("--twin", metavar="NAME", help="Hold it against this twin; auto finds it by the model.")
    ] = "",
    plausible: Annotated[bool, typer.Option("--plausible", help="Also ask whether the figures can be true.")] = False,
    json: JsonFlag = False,
) -> None:
    """Check passports: form, signature, that figures follow from runs, and whether they can be true.

    Exit code 0: all are good. 1: a signature does not hold, or something is wrong with the figures. 2: a file is no
    passport.
    """
    from assay.cli.passport.checking import CheckFlags, check

    raise typer.Exit(check(files, CheckFlags(key=key, twin=twin, plausible=plausible or bool(twin), json=json)))
