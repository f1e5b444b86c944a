"""`assay engine scan`."""

from __future__ import annotations

from assay.cli.engine.flags import Flags, with_flags
from assay.cli.engine.shared import Rows, Value, _run


@with_flags
def scan(flags: Flags, rows: Rows = 1_000_000, value: Value = "120") -> None:
    """Scan all rows in order, again and again.

    For example: assay engine scan --on /mnt/a --rows 10000000 --pool 256MiB --page 64KiB
    """
    _run("scan", flags, rows=rows, value=value)
