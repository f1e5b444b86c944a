"""What the commands of `assay cost` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Quotes = Annotated[
    Path | None, typer.Option("--quotes", metavar="FILE", help="Your own prices and exchange rates; they win.")
]
Band = Annotated[float, typer.Option("--band", help="Sensitivity: each price from 1/BAND to BAND times.")]
AsOf = Annotated[
    str | None, typer.Option("--as-of", metavar="DATE", help="Only prices up to this date; ages count to it.")
]
Page = Annotated[str, typer.Option("--page", help="Size of a page.")]
Iops = Annotated[float | None, typer.Option("--iops", help="Reads a second; the data sheet's by default.")]
