"""`assay rivals build`."""

from __future__ import annotations

from typing import Annotated

import typer


def build(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME...",
            help="lmdb, rocksdb, wiredtiger, redb, or a published program: dash, fptree, bztree, leanstore, vmcache.",
        ),
    ],
    source: Annotated[
        list[str] | None,
        typer.Option("--source", metavar="[NAME=]DIR", help="A clone that is there already; may be repeated."),
    ] = None,
) -> None:
    """Build rivals into a program of their own, beside those that were built before.

    LMDB and redb come as source. RocksDB is the system's: apt-get install librocksdb-dev. WiredTiger is built from its
    source package, as `assay dbms install wiredtiger` does it: that needs cmake, ninja-build and gcc.

    Published programs are fetched by git at one commit into the cache of this user, changed by a few lines of ours
    and built, behind a driver or with a command line of their own. Where there is no network, `--source` names a clone
    of the program, and NAME=DIR one of what it needs.

    For example: assay rivals build lmdb rocksdb
    """
    from assay.cli import output
    from assay.rivals import build as make

    made = make(names, output.tell, source or [])
    output.say(f"built: {', '.join(made)}")
