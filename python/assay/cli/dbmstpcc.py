"""`assay dbms tpcc`: its options, and what it shows."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.dbms import Json, Out, dbms_app

if TYPE_CHECKING:
    from assay.dbms.tpcc.order import Order
    from assay.dbms.tpcc.run import Outcome


class Engine(StrEnum):
    """Databases that run TPC-C."""

    SQLITE = "sqlite"
    POSTGRES = "postgres"


class Choice(StrEnum):
    """Which warehouses terminals work for."""

    HOME = "home"
    UNIFORM = "uniform"
    ZIPF = "zipf"


@dbms_app.command("tpcc")
def tpcc(
    engine: Annotated[Engine, typer.Option("--engine", help="Which database.")] = Engine.SQLITE,
    warehouses: Annotated[int, typer.Option("--warehouses", min=1, help="About 110 MB each.")] = 1,
    terminals: Annotated[int, typer.Option("--terminals", "--threads", min=1, help="Sessions.")] = 2,
    duration: Annotated[str, typer.Option("--duration", metavar="TIME", help="Of the window.")] = "60s",
    ramp: Annotated[str, typer.Option("--ramp", metavar="TIME", help="Before it; a tenth of it.")] = "",
    on: Annotated[list[str] | None, typer.Option("--on", metavar="DIR", help="Folder; may be repeated.")] = None,
    wal: Annotated[str, typer.Option("--wal", metavar="DIR", help="Folder of the log (postgres).")] = "",
    temp: Annotated[str, typer.Option("--temp", metavar="DIR", help="Folder of temporary files (postgres).")] = "",
    index: Annotated[str, typer.Option("--index", metavar="DIR", help="Folder of the indexes (postgres).")] = "",
    rate: Annotated[
        float | None, typer.Option("--rate", help="Transactions a second; else as fast as it goes.")
    ] = None,
    poisson: Annotated[bool, typer.Option("--poisson", help="With --rate: exponential gaps.")] = False,
    think: Annotated[
        float | None, typer.Option("--think", metavar="FACTOR", help="Keying and think times; 1 as specified.")
    ] = None,
    warehouse: Annotated[Choice, typer.Option("--warehouse", help="Whom terminals work for.")] = Choice.HOME,
    zipf: Annotated[float, typer.Option("--zipf", help="Exponent, with --warehouse zipf.")] = 0.99,
    mix: Annotated[str, typer.Option("--mix", metavar="LIST", help="Five shares; 45,43,4,4,4.")] = "",
    isolation: Annotated[
        str, typer.Option("--isolation", metavar="LEVEL", help="read-committed, repeatable-read, serializable.")
    ] = "read-committed",
    synchronous: Annotated[
        str, typer.Option("--synchronous", metavar="WHEN", help="full, normal or off (sqlite).")
    ] = "full",
    repeats: Annotated[
        int, typer.Option("--repeats", min=1, help="Runs of each, restored before; 3 allow a test.")
    ] = 1,
    seed: Annotated[int, typer.Option("--seed", help="Of the transactions.")] = 1,
    spoil: Annotated[
        int | None, typer.Option("--spoil", min=1, max=12, help="Break a consistency condition before the checks.")
    ] = None,
    small: Annotated[bool, typer.Option("--small", help="A hundredth of each warehouse, to try things out.")] = False,
    buffers: Annotated[str, typer.Option("--buffers", metavar="SIZE", help="The database's own cache.")] = "",
    pg_bin: Annotated[Path | None, typer.Option("--pg-bin", metavar="DIR", help="Programs of PostgreSQL.")] = None,
    pg_set: Annotated[
        list[str] | None, typer.Option("--pg-set", metavar="NAME=VALUE", help="A setting of PostgreSQL.")
    ] = None,
    port: Annotated[int | None, typer.Option("--port", help="Listen there too; else on a socket alone.")] = None,
    freeze_costs: Annotated[bool, typer.Option("--freeze-costs", help="Equal plans on every target.")] = False,
    connect: Annotated[str, typer.Option("--connect", metavar="STRING", help="A server that runs already.")] = "",
    external: Annotated[bool, typer.Option("--external", help="With --connect: Assay may work there.")] = False,
    out: Out = None,
    json: Json = False,
) -> None:
    """Run TPC-C's five transactions on each target, with its twelve consistency conditions checked.

    For example: assay dbms tpcc --engine postgres --warehouses 10 --on /mnt/a --on /mnt/b --repeats 3
    """
    from assay.dbms.tpcc.order import Order
    from assay.study.units import parse_bytes, parse_seconds

    order = Order(
        engine=engine.value,
        warehouses=warehouses,
        terminals=terminals,
        duration_s=parse_seconds(duration),
        ramp_s=parse_seconds(ramp) if ramp else None,
        on=on or ["."],
        wal=wal,
        temp=temp,
        index=index,
        rate=rate,
        poisson=poisson,
        think=think,
        choice=warehouse.value,
        zipf=zipf,
        mix=mix,
        isolation=isolation,
        synchronous=synchronous,
        repeats=repeats,
        seed=seed,
        spoil=spoil,
        small=small,
        buffers=int(parse_bytes(buffers)) if buffers else None,
        pg_bin=pg_bin,
        pg_settings=tuple(pg_set or ()),
        port=port,
        freeze_costs=freeze_costs,
        connect=connect,
        external=external,
    )
    raise typer.Exit(_run(order, out, json))


def _run(order: Order, out: Path | None, as_json: bool) -> int:
    from datetime import UTC, datetime

    from assay.cli import output
    from assay.dbms.tpcc.contrast import durable_writes_per_s
    from assay.dbms.tpcc.run import run

    folder = out or Path("assay-results") / f"tpcc-{datetime.now(UTC).strftime('%Y%m%dT%H%M%SZ')}"
    several = [] if order.connect or len(order.on) < 2 else order.on
    probes = {name: durable_writes_per_s(Path(name).expanduser()) for name in several if Path(name).is_dir()}
    outcome = run(order, folder, output.tell)
    if as_json:
        output.emit(outcome.records)
    else:
        _show(outcome, probes)
        output.say(f"records in {folder}/work")
    if outcome.broke:
        output.tell(f"error: {outcome.broke}")
    return outcome.exit_code


def _show(outcome: Outcome, probes: dict[str, float]) -> None:
    import sys

    from rich.console import Console

    from assay.cli import output
    from assay.dbms.tpcc.contrast import sentences
    from assay.work import show

    console = Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else 140)
    with output.to_reader():
        for record in outcome.records:
            show(record, console)
        for sentence in sentences(outcome.records, probes):
            console.print(sentence, markup=False)
        console.print("TPC-C-like: not audited, and not to be compared with published TPC-C results.", markup=False)
