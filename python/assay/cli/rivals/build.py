"""`assay rivals build`."""

from __future__ import annotations

from typing import Annotated

import typer


def build(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="lmdb, rocksdb, wiredtiger, redb.")],
) -> None:
    """Build rivals into a program of their own, beside those that were built before.

    LMDB and redb come as source. RocksDB is the system's: apt-get install librocksdb-dev. WiredTiger is built from its
    source package, as `assay dbms install wiredtiger` does it: that needs cmake, ninja-build and gcc.

    For example: assay rivals build lmdb rocksdb
    """
    from assay.cli import output
    from assay.rivals import build as make

    made = make(names, output.tell)
    output.say(f"built: {', '.join(made)}")
