"""`assay dbms predict`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.dbms.flags import Out
from assay.cli.flags import JsonFlag


def predict(
    records: Annotated[Path, typer.Argument(metavar="DIR", help="Result folder of a run with cold caches.")],
    on: Annotated[
        list[str] | None, typer.Option("--on", metavar="twin:NAME|limit:RATE", help="Device; may be repeated.")
    ] = None,
    against: Annotated[
        Path | None, typer.Option("--against", metavar="DIR", help="Results measured there, to compare with.")
    ] = None,
    out: Out = None,
    json: JsonFlag = False,
) -> None:
    """Predict the time of queries, and the throughput, on a device that is not here, with a band.

    For example: assay dbms predict assay-results/tpch-duckdb-20260101T000000Z --on twin:p4610 --on limit:200MB/s
    """
    from assay.cli.dbms.forecasts import run_predict

    raise typer.Exit(run_predict(records, on or [], against, out, json))
