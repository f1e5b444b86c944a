"""`assay index nodes`."""

from __future__ import annotations

from typing import Annotated

import typer

from assay.cli.flags import JsonFlag


def nodes(
    on: Annotated[list[str], typer.Option("--on", metavar="TARGET", help="A folder or a twin; may be repeated.")],
    keys: Annotated[str, typer.Option("--keys", metavar="N", help="Entries of the tree, such as 1e8.")] = "1e8",
    path: Annotated[
        str, typer.Option("--path", metavar="PATH", help="In a folder: DAX, or `file I/O, direct`.")
    ] = "file I/O, direct",
    sizes: Annotated[
        list[str] | None, typer.Option("--size", metavar="BYTES", help="Of a node; may be repeated.")
    ] = None,
    entry: Annotated[int, typer.Option("--entry-bytes", min=2, help="Key and child of an entry.")] = 16,
    data: Annotated[str, typer.Option("--data", metavar="BYTES", help="Read from, in a folder.")] = "1GiB",
    json: JsonFlag = False,
) -> None:
    """Lookup time against node size: depth of the tree times what reading a node takes, measured or on twins."""
    from assay.cli.index.costing import show_nodes
    from assay.index.nodes import Tree
    from assay.study.work.index import number

    tree = Tree(number(keys, "--keys"), entry)
    raise typer.Exit(show_nodes(on, path, sizes or [], tree, data, json))
