"""`assay twin coverage`: its options."""

from __future__ import annotations

import typer

from assay.cli.flags import Json


def coverage(json: Json = False) -> None:
    """Count how often published figures that no twin was fitted to lie in its band, by kind of question.

    For example: assay twin coverage
    """
    from assay.cli.twins.covering import show

    raise typer.Exit(show(json))
