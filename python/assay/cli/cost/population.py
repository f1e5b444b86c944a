"""`assay cost population`."""

from __future__ import annotations

from typing import Annotated

import typer

from assay.cli.flags import JsonFlag


def population(
    pmem: Annotated[int, typer.Option("--pmem", help="Modules of persistent memory in a socket.")],
    dram: Annotated[int, typer.Option("--dram", help="Modules of DRAM in it.")],
    sizes: Annotated[int, typer.Option("--sizes", min=1, help="How many sizes of PMem are mixed.")] = 1,
    kind: Annotated[str, typer.Option("--kind", metavar="rdimm|lrdimm|3ds-rdimm", help="Of the DRAM.")] = "rdimm",
    json: JsonFlag = False,
) -> None:
    """Whether a socket takes these memory modules, and who says so."""
    from assay.cli.cost.session import CostSession
    from assay.price.population import population as compute

    session = CostSession(None, None, 1.0, json)
    raise typer.Exit(session.show(compute(session.ledger, pmem, dram, sizes, kind)))
