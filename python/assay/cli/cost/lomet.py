"""`assay cost lomet`."""

from __future__ import annotations

from typing import Annotated

import typer

from assay.cli.cost.flags import AsOf, Band, Iops, Page, Quotes
from assay.cli.flags import JsonFlag


def lomet(
    size: Annotated[str, typer.Option("--size", help="Bytes of the data.")],
    rops_memory: Annotated[float, typer.Option("--rops-memory", help="Operations/s of the processor, in memory.")],
    rops_device: Annotated[float, typer.Option("--rops-device", help="Operations/s of the processor, with I/O.")],
    memory: Annotated[str, typer.Option("--memory", metavar="ITEM", help="The memory.")] = "ddr4-32g",
    device: Annotated[str, typer.Option("--device", metavar="ITEM", help="The device.")] = "p4800x-375g",
    cpu: Annotated[str, typer.Option("--cpu", metavar="ITEM", help="The processor.")] = "xeon-6242r",
    iops: Iops = None,
    io_share: Annotated[float, typer.Option("--io-share", help="Share of the device's price for IOPS.")] = 1.0,
    page: Page = "4KiB",
    quotes: Quotes = None,
    band: Band = 2.0,
    as_of: AsOf = None,
    json: JsonFlag = False,
) -> None:
    """Lomet's curves: cost over the access rate in memory and on a device, and where they cross."""
    from assay.cli.cost.session import CostSession
    from assay.price.lomet import PricedStore
    from assay.price.lomet import lomet as compute
    from assay.units.parse import parse_bytes

    session = CostSession(quotes, as_of, band, json)
    store = PricedStore(parse_bytes(size), memory, device, cpu, rops_memory, rops_device, iops, io_share)
    raise typer.Exit(session.show(compute(session.ledger, store, parse_bytes(page), band)))
