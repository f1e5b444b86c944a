"""The command line. Only `typer` is loaded before a command runs: `assay --help` must answer at once."""

from assay.cli.main import main

__all__ = ["main"]
