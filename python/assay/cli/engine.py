"""`assay engine`: its commands and their options."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

engine_app = typer.Typer(
    help="Run Assay's own storage engine on a target: what a database could reach there.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


class Durability(StrEnum):
    """What makes an acknowledged transaction durable."""

    NONE = "none"
    FDATASYNC = "fdatasync"
    PLP = "plp"
    PMEM = "pmem"


class Placement(StrEnum):
    """What happens to a page in the memory below that is read."""

    COPY = "copy"
    IN_PLACE = "in-place"
    HOT = "hot"


On = Annotated[str, typer.Option("--on", metavar="DIR|twin:NAME", help="Folder or twin for the pages.")]
Log = Annotated[str, typer.Option("--log", metavar="DIR|twin:NAME", help="For the log; that of the pages.")]
Tail = Annotated[str, typer.Option("--pmem", metavar="DIR|twin:NAME", help="Persistent memory for the log's tail.")]
Host = Annotated[str, typer.Option("--host", metavar="NAME", help="Runs the engine on a twin; `assay list hosts`.")]
Cores = Annotated[int | None, typer.Option("--cores", min=1, help="Cores of that host.")]
Clock = Annotated[float | None, typer.Option("--clock", metavar="GHZ", min=0.1, help="Its clock.")]
Below = Annotated[
    str, typer.Option("--tier", metavar="DIR|twin:NAME:BYTES", help="Memory below the pool, such as /mnt/pmem:4GiB.")
]
Place = Annotated[Placement, typer.Option("--placement", help="What happens to a page below that is read.")]
Turn = Annotated[str, typer.Option("--turn", metavar="TIME", help="CPU time of a turn on a twin; measured without it.")]
Pool = Annotated[str, typer.Option("--pool", metavar="BYTES", help="The buffer pool.")]
Page = Annotated[str, typer.Option("--page", metavar="BYTES", help="A page: 4 to 64 KiB.")]
LogSize = Annotated[str, typer.Option("--log-size", metavar="BYTES", help="The log's file, given when it is made.")]
Threads = Annotated[int, typer.Option("--threads", min=1, help="Threads; of TPC-C each is a terminal.")]
Tasks = Annotated[int, typer.Option("--tasks", min=1, help="Cooperative tasks of each thread.")]
Duration = Annotated[str, typer.Option("--duration", metavar="TIME", help="Of the window.")]
Warmup = Annotated[str, typer.Option("--warmup", metavar="TIME", help="Before the window.")]
Durable = Annotated[Durability, typer.Option("--durability", help="What makes a commit durable.")]
Keep = Annotated[Path | None, typer.Option("--keep", metavar="DIR", help="Keeps the database there, or opens it.")]
Seed = Annotated[int, typer.Option("--seed", help="Of everything that is left to chance.")]
Out = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Result folder.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]


@engine_app.command("tpcc")
def tpcc(
    warehouses: Annotated[int, typer.Option("--warehouses", min=1, help="Size of the data set.")] = 1,
    small: Annotated[bool, typer.Option("--small", help="A hundredth of each warehouse, for trials.")] = False,
    on: On = ".",
    log: Log = "",
    pmem: Tail = "",
    pool: Pool = "1GiB",
    page: Page = "4KiB",
    log_size: LogSize = "256MiB",
    threads: Threads = 1,
    duration: Duration = "10s",
    warmup: Warmup = "2s",
    durability: Durable = Durability.FDATASYNC,
    keep: Keep = None,
    seed: Seed = 0,
    tier: Below = "",
    placement: Place = Placement.HOT,
    host: Host = "",
    cores: Cores = None,
    clock: Clock = None,
    turn: Turn = "",
    out: Out = None,
    json: Json = False,
) -> None:
    """Run TPC-C's five transactions, with the mix audited and the twelve conditions checked.

    For example: assay engine tpcc --on /mnt/a --warehouses 5 --pool 2GiB --threads 2
    """
    from assay.cli.enginerun import HostFlags, TierFlags, Wanted, run

    workload = {"kind": "tpcc", "warehouses": warehouses, "small": small}
    wanted = Wanted(
        workload,
        on,
        log,
        pmem,
        pool,
        page,
        log_size,
        threads,
        1,
        duration,
        warmup,
        durability.value,
        keep,
        seed,
        out,
        json,
        HostFlags(host, cores, clock, turn),
        TierFlags(tier, placement.value),
    )
    raise typer.Exit(run(wanted))


@engine_app.command("ycsb")
def ycsb(
    rows: Annotated[int, typer.Option("--rows", min=1, help="Rows that are loaded.")] = 1_000_000,
    value: Annotated[str, typer.Option("--value", metavar="BYTES", help="Of each row.")] = "120",
    reads: Annotated[float, typer.Option("--reads", min=0, max=1, help="Share of reads; the others change.")] = 1.0,
    zipf: Annotated[float, typer.Option("--zipf", min=0, help="Skew; 0 for all rows alike.")] = 0.0,
    on: On = ".",
    log: Log = "",
    pmem: Tail = "",
    pool: Pool = "1GiB",
    page: Page = "4KiB",
    log_size: LogSize = "256MiB",
    threads: Threads = 1,
    tasks: Tasks = 32,
    duration: Duration = "10s",
    warmup: Warmup = "2s",
    durability: Durable = Durability.FDATASYNC,
    keep: Keep = None,
    seed: Seed = 0,
    tier: Below = "",
    placement: Place = Placement.HOT,
    host: Host = "",
    cores: Cores = None,
    clock: Clock = None,
    turn: Turn = "",
    out: Out = None,
    json: Json = False,
) -> None:
    """Read and change single rows, each in a transaction of its own.

    For example: assay engine ycsb --on /mnt/a --rows 10000000 --pool 1GiB --reads 0.5 --threads 2
    """
    from assay.cli.enginerun import HostFlags, TierFlags, Wanted, run
    from assay.study.units import parse_bytes

    workload = {
        "kind": "ycsb",
        "rows": rows,
        "value_bytes": int(parse_bytes(value)),
        "read_share": reads,
        "zipf": zipf,
    }
    wanted = Wanted(
        workload,
        on,
        log,
        pmem,
        pool,
        page,
        log_size,
        threads,
        tasks,
        duration,
        warmup,
        durability.value,
        keep,
        seed,
        out,
        json,
        HostFlags(host, cores, clock, turn),
        TierFlags(tier, placement.value),
    )
    raise typer.Exit(run(wanted))


@engine_app.command("scan")
def scan(
    rows: Annotated[int, typer.Option("--rows", min=1, help="Rows that are loaded.")] = 1_000_000,
    value: Annotated[str, typer.Option("--value", metavar="BYTES", help="Of each row.")] = "120",
    on: On = ".",
    log: Log = "",
    pool: Pool = "1GiB",
    page: Page = "4KiB",
    log_size: LogSize = "256MiB",
    threads: Threads = 1,
    tasks: Tasks = 4,
    duration: Duration = "10s",
    warmup: Warmup = "2s",
    durability: Durable = Durability.FDATASYNC,
    keep: Keep = None,
    seed: Seed = 0,
    tier: Below = "",
    placement: Place = Placement.HOT,
    host: Host = "",
    cores: Cores = None,
    clock: Clock = None,
    turn: Turn = "",
    out: Out = None,
    json: Json = False,
) -> None:
    """Scan all rows in order, again and again.

    For example: assay engine scan --on /mnt/a --rows 10000000 --pool 256MiB --page 64KiB
    """
    from assay.cli.enginerun import HostFlags, TierFlags, Wanted, run
    from assay.study.units import parse_bytes

    workload = {"kind": "scan", "rows": rows, "value_bytes": int(parse_bytes(value))}
    wanted = Wanted(
        workload,
        on,
        log,
        "",
        pool,
        page,
        log_size,
        threads,
        tasks,
        duration,
        warmup,
        durability.value,
        keep,
        seed,
        out,
        json,
        HostFlags(host, cores, clock, turn),
        TierFlags(tier, placement.value),
    )
    raise typer.Exit(run(wanted))


@engine_app.command("tiers")
def tiers(
    study: Annotated[str, typer.Argument(help="A study of tiers, or a file made like one.")] = "lessons-tiers",
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Result folder.")] = Path("results/engine-tiers"),
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Compare where pages may lie that DRAM has no room for: policies, at several sizes of the pool.

    For example: assay engine tiers lessons-tiers
    """
    from assay.cli.enginetiers import run_study

    raise typer.Exit(run_study(study, out, seed, json))
