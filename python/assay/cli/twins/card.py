"""`assay twin show`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def card(
    twin: Annotated[str, typer.Argument(metavar="TWIN", help="Name in the catalog, or FILE.toml.")],
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE.svg", help="NAME.svg by default.")] = None,
) -> None:
    """Draw a drive's twin as a card: rates and latencies, collected and fresh, with bands and sources.

    For example: assay twin show 970evoplus
    """
    from assay.cli import output
    from assay.error import DONE
    from assay.results.files import explain
    from assay.twin.card import write
    from assay.twin.envelope import drive

    document = drive(twin)
    path = out or Path(f"{document['name']}.svg")
    try:
        write(document, path)
    except OSError as error:
        raise explain(error, path) from error
    output.say(f"{path} shows {document['title']}")
    raise typer.Exit(DONE)
