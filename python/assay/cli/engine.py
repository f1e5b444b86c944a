"""`assay engine`: its commands and their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli.engineflags import Flags, with_flags

engine_app = typer.Typer(
    help="Run Assay's own storage engine on a target: what a database could reach there.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Rows = Annotated[int, typer.Option("--rows", min=1, help="Rows that are loaded.")]
Value = Annotated[str, typer.Option("--value", metavar="BYTES", help="Of each row.")]


@engine_app.command("tpcc")
@with_flags
def tpcc(
    flags: Flags,
    warehouses: Annotated[int, typer.Option("--warehouses", min=1, help="Size of the data set.")] = 1,
    small: Annotated[bool, typer.Option("--small", help="A hundredth of each warehouse, for trials.")] = False,
) -> None:
    """Run TPC-C's five transactions, with the mix audited and the twelve conditions checked.

    For example: assay engine tpcc --on /mnt/a --warehouses 5 --pool 2GiB --threads 2
    """
    _run({"kind": "tpcc", "warehouses": warehouses, "small": small}, flags)


@engine_app.command("ycsb")
@with_flags
def ycsb(
    flags: Flags,
    rows: Rows = 1_000_000,
    value: Value = "120",
    reads: Annotated[float, typer.Option("--reads", min=0, max=1, help="Share of reads; the others change.")] = 1.0,
    zipf: Annotated[float, typer.Option("--zipf", min=0, help="Skew; 0 for all rows alike.")] = 0.0,
) -> None:
    """Read and change single rows, each in a transaction of its own.

    For example: assay engine ycsb --on /mnt/a --rows 10000000 --pool 1GiB --reads 0.5 --threads 2
    """
    _run({"kind": "ycsb", "rows": rows, "value_bytes": _bytes(value), "read_share": reads, "zipf": zipf}, flags)


@engine_app.command("scan")
@with_flags
def scan(flags: Flags, rows: Rows = 1_000_000, value: Value = "120") -> None:
    """Scan all rows in order, again and again.

    For example: assay engine scan --on /mnt/a --rows 10000000 --pool 256MiB --page 64KiB
    """
    _run({"kind": "scan", "rows": rows, "value_bytes": _bytes(value)}, flags)


@engine_app.command("ledger")
@with_flags
def ledger(flags: Flags, value: Value = "120") -> None:
    """Commit numbered transactions in a kept database, and hold it to what it acknowledged.

    What was acknowledged is noted outside of the database. Kill the run in whatever way; the next one on the same
    folder looks first whether everything is there, and nothing in part.

    For example: assay engine ledger --keep /mnt/a/ledger --threads 2 --duration 60s
    """
    from assay.error import BAD_JOB, AssayError

    if flags.keep is None:
        raise AssayError("a ledger is kept, and no folder was named", hint="name one with --keep DIR", code=BAD_JOB)
    _run({"kind": "ledger", "value_bytes": _bytes(value)}, flags)


@engine_app.command("study")
def study(
    name: Annotated[str, typer.Argument(metavar="NAME|FILE", help="dana-table, or a file of the same kind.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Result folder; a started one is continued.")],
    on: Annotated[Path, typer.Option("--on", metavar="DIR", help="Folder for the pages.")] = Path(),
    log: Annotated[Path | None, typer.Option("--log", metavar="DIR", help="Folder for the log.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Another value of a parameter.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
) -> None:
    """Run a declared set of engine runs, and print them side by side; go on where it was stopped.

    For example: assay engine study dana-table --on /mnt/a --out results --set warehouses=10
    """
    from assay.cli.enginestudy import run_study

    raise typer.Exit(run_study(name, on, log, set_ or [], out, json))


@engine_app.command("tiers")
def tiers(
    study: Annotated[str, typer.Argument(metavar="NAME|FILE", help="A study of tiers.")] = "lessons-tiers",
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Result folder.")] = Path("results/engine-tiers"),
    seed: Annotated[int, typer.Option("--seed", help="Of everything that is left to chance.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
) -> None:
    """Compare where pages may lie that DRAM has no room for: policies, at several sizes of the pool.

    For example: assay engine tiers lessons-tiers
    """
    from assay.cli.enginetiers import run_study

    raise typer.Exit(run_study(study, out, seed, json))


def _bytes(text: str) -> int:
    from assay.study.units import parse_bytes

    return int(parse_bytes(text))


def _run(workload: dict[str, Any], flags: Flags) -> None:
    from assay.cli.enginerun import run

    raise typer.Exit(run(workload, flags))
