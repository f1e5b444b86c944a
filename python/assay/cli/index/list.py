"""`assay index list`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import typer

from assay.cli.flags import JsonFlag


def list_(json: JsonFlag = False) -> None:
    """List the indexes, and whether this program has them."""
    from assay import rivals
    from assay.binary import Binary
    from assay.cli import output

    listed: list[dict[str, Any]] = Binary.find().document("index", "--list")
    built = {one["name"] for one in rivals.listed()}
    for one in listed:
        one["there"] = one["there"] or one["name"] in built
    if json:
        output.emit(listed)
    else:
        _show(listed, rivals.NAMES)
    raise typer.Exit


def _show(listed: list[dict[str, Any]], rivals: Collection[str]) -> None:
    from rich.table import Table

    from assay.cli import output

    table = Table(box=None, pad_edge=False, show_header=False)
    for one in listed:
        name = one["name"]
        absent = f"not built: `assay rivals build {name}`" if name in rivals else "not in this program"
        table.add_row(name, one["what"], "" if one["there"] else absent)
    output.console().print(table)
