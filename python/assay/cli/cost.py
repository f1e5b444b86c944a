"""`assay cost`: what hardware costs, and what a dollar of it does. Each command loads what it needs when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

cost_app = typer.Typer(
    help="What hardware costs, per GB, per IOPS, per transaction; break-even of two tiers; what a sum buys.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Quotes = Annotated[
    Path | None, typer.Option("--quotes", metavar="FILE", help="Your own prices and exchange rates; they win.")
]
Band = Annotated[float, typer.Option("--band", help="Sensitivity: each price from 1/BAND to BAND times.")]
AsOf = Annotated[
    str | None, typer.Option("--as-of", metavar="DATE", help="Only prices up to this date; ages count to it.")
]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
Page = Annotated[str, typer.Option("--page", help="Size of a page.")]
Iops = Annotated[float | None, typer.Option("--iops", help="Reads a second; the data sheet's by default.")]


@cost_app.command("jungle-table1")
def jungle_table1(quotes: Quotes = None, band: Band = 2.0, as_of: AsOf = None, json: Json = False) -> None:
    """The table of price per capacity of Huang et al. (CIDR 2022), from its ingredients."""
    from assay.cli.costrun import Session
    from assay.price.jungle import table1

    session = Session(quotes, as_of, band, json)
    raise typer.Exit(session.show(table1(session.ledger, band)))


@cost_app.command()
def ratio(
    throughput: Annotated[float | None, typer.Option("--throughput", help="P, per second.")] = None,
    threads: Annotated[float | None, typer.Option("--threads", help="W, worker threads.")] = None,
    utilisation: Annotated[float | None, typer.Option("--utilisation", help="U, of the workers, 0 to 1.")] = None,
    inside: Annotated[Path | None, typer.Option("--in", metavar="DIR", help="Result folder of a record.")] = None,
    cell: Annotated[
        str | None, typer.Option("--cell", metavar="ID", help="A cell with its repeat, or a work record.")
    ] = None,
    classes: Annotated[list[str] | None, typer.Option("--class", help="Only this class; may be repeated.")] = None,
    metric: Annotated[str, typer.Option("--metric", metavar="ops|bandwidth", help="What P is in a record.")] = "ops",
    storage: Annotated[list[str] | None, typer.Option("--storage", metavar="ITEM*N", help="Storage parts.")] = None,
    dram: Annotated[list[str] | None, typer.Option("--dram", metavar="ITEM*N", help="Memory modules.")] = None,
    cpu: Annotated[str, typer.Option("--cpu", metavar="ITEM", help="The processor.")] = "xeon-6242r",
    cpu_threads: Annotated[float | None, typer.Option("--cpu-threads", help="T; the catalog's by default.")] = None,
    quotes: Quotes = None,
    band: Band = 2.0,
    as_of: AsOf = None,
    json: Json = False,
) -> None:
    """R = P / ($S + $D + W*U*$C/T): throughput per dollar of the hardware that it keeps busy.

    P, W and U are given, or come from a record: --in DIR --cell ID.
    """
    from assay.cli.costrun import Session, machine_of, workload_of
    from assay.price.ratio import ratio as compute

    session = Session(quotes, as_of, band, json)
    load = workload_of(throughput, threads, utilisation, inside, cell, metric, classes)
    machine = machine_of(storage or [], dram or [], cpu, cpu_threads)
    raise typer.Exit(session.show(compute(session.ledger, machine, load, band)))


@cost_app.command()
def total(
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="The order: parts, months, work.")] = None,
    parts: Annotated[list[str] | None, typer.Option("--part", metavar="ITEM*N", help="A part; repeated.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Such as months=36, work.iops=500000, endurance.rated=5PB."),
    ] = None,
    inside: Annotated[Path | None, typer.Option("--in", metavar="DIR", help="Result folder of a record.")] = None,
    cell: Annotated[
        str | None, typer.Option("--cell", metavar="ID", help="Record that says what it does and writes.")
    ] = None,
    quotes: Quotes = None,
    band: Band = 2.0,
    as_of: AsOf = None,
    json: Json = False,
) -> None:
    """What a system costs over months, and per GB, GB/s, IOPS, million operations, transaction.

    Purchase over lifetime, energy, endurance, copies, support, and the rules of memory modules. Rates and bytes
    written are given, or come from a record of a cell, an index, an engine or a database: --in DIR --cell ID.
    """
    from assay.cli.costrun import Session, order_of, seen_of
    from assay.price.ownership import total as compute

    session = Session(quotes, as_of, band, json)
    seen = seen_of(inside, cell)
    order = order_of(file, parts or [], settings or [], seen.order() if seen else None)
    raise typer.Exit(session.show(compute(session.ledger, order, band, seen)))


@cost_app.command()
def budget(
    usd: Annotated[float, typer.Option("--usd", help="The sum, US dollars.")] = 2000.0,
    date: Annotated[str | None, typer.Option("--date", metavar="YEAR[-MM]", help="Only prices of this date.")] = None,
    quotes: Quotes = None,
    band: Band = 2.0,
    as_of: AsOf = None,
    json: Json = False,
) -> None:
    """What a sum of money buys: capacity, bandwidth and random reads, at each date that has prices."""
    from assay.cli.costrun import Session
    from assay.price.budget import budget as compute

    session = Session(quotes, as_of, band, json)
    raise typer.Exit(session.show(compute(session.ledger, usd, band, date)))


@cost_app.command()
def history(quotes: Quotes = None, band: Band = 2.0, as_of: AsOf = None, json: Json = False) -> None:
    """Capacity per dollar over the years."""
    from assay.cli.costrun import Session
    from assay.price.history import capacity

    session = Session(quotes, as_of, band, json)
    raise typer.Exit(session.show(capacity(session.ledger, band)))


@cost_app.command("break-even")
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
    json: Json = False,
) -> None:
    """The five-minute rule for any pair of tiers.

    Classic, or with the host's cost (--cpu, --clock, and --cycles where no twin or record says them), or with IOPS at a
    latency bound (--latency-bound, with --twin, --in or --curve).
    """
    from assay.cli.costrun import Session, curve_of, pair_of
    from assay.price.breakeven import break_even as compute
    from assay.price.history import rules

    session = Session(quotes, as_of, band, json)
    if past:
        raise typer.Exit(session.show(rules(session.ledger)))
    host = (cpu, cycles, clock, bandwidth_price)
    over_load = curve_of(curve, twin, inside, page)
    for problem in over_load.problems if over_load else ():
        session.ledger.warn(f"{inside}: {problem}")
    pair = pair_of(upper, lower, page, iops, over_load, latency_bound, host)
    raise typer.Exit(session.show(compute(session.ledger, pair, band)))


@cost_app.command()
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
    json: Json = False,
) -> None:
    """Lomet's curves: cost over the access rate in memory and on a device, and where they cross."""
    from assay.cli.costrun import Session
    from assay.price.lomet import Store
    from assay.price.lomet import lomet as compute
    from assay.study.units import parse_bytes

    session = Session(quotes, as_of, band, json)
    store = Store(parse_bytes(size), memory, device, cpu, rops_memory, rops_device, iops, io_share)
    raise typer.Exit(session.show(compute(session.ledger, store, parse_bytes(page), band)))


@cost_app.command()
def population(
    pmem: Annotated[int, typer.Option("--pmem", help="Modules of persistent memory in a socket.")],
    dram: Annotated[int, typer.Option("--dram", help="Modules of DRAM in it.")],
    sizes: Annotated[int, typer.Option("--sizes", min=1, help="How many sizes of PMem are mixed.")] = 1,
    kind: Annotated[str, typer.Option("--kind", metavar="rdimm|lrdimm|3ds-rdimm", help="Of the DRAM.")] = "rdimm",
    json: Json = False,
) -> None:
    """Whether a socket takes these memory modules, and who says so."""
    from assay.cli.costrun import Session
    from assay.price.population import population as compute

    session = Session(None, None, 1.0, json)
    raise typer.Exit(session.show(compute(session.ledger, pmem, dram, sizes, kind)))


@cost_app.command()
def prices(
    word: Annotated[str, typer.Argument(metavar="[WORD]", help="Only items that hold it.")] = "",
    quotes: Quotes = None,
    as_of: AsOf = None,
    json: Json = False,
) -> None:
    """The price book: each entry with its date and source."""
    from assay.cli.costrun import Session
    from assay.price.listing import listing

    session = Session(quotes, as_of, 1.0, json)
    raise typer.Exit(session.show(listing(session.ledger, word)))
