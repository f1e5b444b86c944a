"""`assay completion`."""

from __future__ import annotations

from typing import Annotated

import typer

from assay.cli.flags import JsonFlag


def completion(
    shell: Annotated[str, typer.Argument(metavar="bash|zsh|fish", help="The shell.")] = "bash",
    json: JsonFlag = False,
) -> None:
    """Print a completion script for a shell.

    For example: assay completion bash >> ~/.bashrc
    """
    from assay.cli.about.listing import show_completion

    raise typer.Exit(show_completion(shell, json))
