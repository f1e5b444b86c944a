"""`assay atlas build`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.flags import JsonFlag


def build(
    site: Annotated[Path, typer.Argument(metavar="FOLDER", help="New, or the site of an earlier call.")],
    sources: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FROM...]", help="Passports, result folders, folders of them; none: the catalog alone."
        ),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Write a static site of drives and instances: sheet, measured, twin, error, who, when, verdicts, prices.

    Needs no server and asks nothing of anybody: open FOLDER/index.html, or put the folder on any web server.
    """
    from assay.atlas import site as sites
    from assay.cli import output
    from assay.error import DONE

    entries, left_out = sites.build(site, sources or [])
    measured = sum(len(one.taken) for one in entries)
    index = site / "index.html"
    if json:
        output.emit({"index": str(index), "pages": len(entries), "measured": measured, "left_out": left_out})
        raise typer.Exit(DONE)
    for text in left_out:
        output.tell(f"left out: {text}")
    output.say(f"{index}: {len(entries)} pages, {measured} passports and result folders")
    raise typer.Exit(DONE)
