"""The program: the table of contents as commands."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from assay.cli.contents import CONTENTS
from assay.cli.lazy import group
from assay.cli.overview import ABOUT
from assay.version import __version__

app = group(
    "assay",
    ABOUT,
    CONTENTS,
    add_completion="_ASSAY_COMPLETE" in os.environ,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"assay {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    del version
