"""`assay cost break-even`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.cost.flags import AsOf, Band, Iops, Page, Quotes
from assay.cli.flags import JsonFlag


def break_even(
    upper: Annotated[str, typer.Option("--upper", metavar="ITEM", help="The faster tier.")] = "ddr4-32g",
    lower: Annotated[str, typer.Option("--lower", metavar="ITEM", help="The slower tier.")] = "p4800x-375g",
    page: Page = "4KiB",
    iops: Iops = None,
    curve: Annotated[
        Path | None, typer.Option("--curve", metavar="FILE", help="Latency over load: columns iops, latency_us.")
    ] = None,
    twin: Annotated[
        str | None, typer.Option("--twin", metavar="NAME", help="The slower tier's twin answers for its reads.")
    ] = None,
    inside: Annotated[
        Path | None, typer.Option("--in", metavar="DIR", help="The random reads of these records answer.")
    ] = None,
    latency_bound: Annotated[str | None, typer.Option("--latency-bound", help="IOPS are those within it.")] = None,
    cpu: Annotated[str | None, typer.Option("--cpu", metavar="ITEM", help="Count the host: its processor.")] = None,
    cycles: Annotated[
        float | None, typer.Option("--cycles", help="CPU cycles per access; a twin's or a record's.")
    ] = None,
    clock: Annotated[float | None, typer.Option("--clock", help="Clock of a core, Hz.")] = None,
    bandwidth_price: Annotated[
        float, typer.Option("--bandwidth-price", help="US dollars per GB/s of memory bandwidth.")
    ] = 0.0,
    past: Annotated[bool, typer.Option("--history", help="The rule from 1987 to 2018 instead.")] = False,
    quotes: Quotes = None,
    band: Band = 2.0,
    as_of: AsOf = None,
    json: JsonFlag = False,
) -> None:
    """The five-minute rule for any pair of tiers.

    Classic, or with the host's cost (--cpu, --clock, and --cycles where no twin or record says them), or with IOPS at a
    latency bound (--latency-bound, with --twin, --in or --curve).
    """
    from assay.cli.cost.session import CostSession, curve_of, pair_of
    from assay.price.breakeven import break_even as compute
    from assay.price.history import rules

    session = CostSession(quotes, as_of, band, json)
    if past:
        raise typer.Exit(session.show(rules(session.ledger)))
    host = (cpu, cycles, clock, bandwidth_price)
    over_load = curve_of(curve, twin, inside, page)
    for problem in over_load.problems if over_load else ():
        session.ledger.warn(f"{inside}: {problem}")
    pair = pair_of(upper, lower, page, iops, over_load, latency_bound, host)
    raise typer.Exit(session.show(compute(session.ledger, pair, band)))
