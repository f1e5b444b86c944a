"""`assay engine ledger`."""

from __future__ import annotations

from assay.cli.engine.flags import Flags, with_flags
from assay.cli.engine.shared import Value, _run


@with_flags
def ledger(flags: Flags, value: Value = "120") -> None:
    """Commit numbered transactions in a kept database, and hold it to what it acknowledged.

    What was acknowledged is noted outside of the database. Kill the run in whatever way; the next one on the same
    folder looks first whether everything is there, and nothing in part.

    For example: assay engine ledger --keep /mnt/a/ledger --threads 2 --duration 60s
    """
    _run("ledger", flags, value=value)
