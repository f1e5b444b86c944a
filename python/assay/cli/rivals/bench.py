"""`assay rivals bench`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.flags import Json
from assay.error import FAILED

if TYPE_CHECKING:
    from rich.table import Table

    from assay.bench.beside import ContestResult, Missing

Contests = Annotated[
    list[str] | None, typer.Option("--contest", metavar="NAME", help="Only this one; may be repeated.")
]


Rivals = Annotated[
    list[str] | None, typer.Option("--rival", metavar="NAME", help="Only this one, or postgres; may be repeated.")
]


Durability = Annotated[str, typer.Option("--durability", metavar="WHICH", help="Of the rivals: none, wal or fsync.")]


def _show(found: list[ContestResult | Missing], repeats: int, seed: int) -> None:
    import sys

    from rich.console import Console

    from assay.bench.beside import Missing
    from assay.bench.reading import GOOD
    from assay.cli import output

    results = [one for one in found if not isinstance(one, Missing)]
    console = Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else 160)
    with output.to_reader():
        console.print(_table(results))
        for name, sentences in {one.rival: one.differences for one in results if one.differences}.items():
            console.print(f"What is not the same for {name}: {' '.join(sentences)}", markup=False)
        console.print(
            f"Medians of {repeats} pairs in random order (seed {seed}). Ratios are Assay's figure to the rival's, with "
            "95 % intervals: of operations a second more, of CPU an operation less is better for Assay.",
            markup=False,
        )
        for one in results:
            bad = sorted({word for words in one.verdicts for word in words if word not in GOOD})
            if bad:
                console.print(f"{one.contest}, {one.ours} and {one.rival}: {', '.join(bad)}", markup=False)
        for other in found:
            if isinstance(other, Missing):
                console.print(_unmeasured(other), markup=False)


def _unmeasured(one: Missing) -> str:
    return f"{one.contest}, {one.ours} and {one.rival}: not measured: {one.reason} ({one.fix or 'no remedy is known'})"


def _table(results: list[ContestResult]) -> Table:
    from statistics import median

    from rich.table import Table

    from assay.units import show

    table = Table(box=None, pad_edge=False)
    for head in (
        "contest",
        "threads",
        "pool",
        "Assay",
        "durability",
        "/s",
        "rival",
        "durability",
        "/s",
        "ratio",
        "CPU ratio",
    ):
        table.add_column(
            head, no_wrap=True, justify="right" if head in ("threads", "pool", "/s", "ratio", "CPU ratio") else "left"
        )
    for one in results:
        (ours, theirs), (durable, durable_too) = one.per_s, one.durability
        ratios = [
            f"{found.median:.2f} ({found.low:.2f} to {found.high:.2f})" if found.low else f"{found.median:.2f}"
            for found in (one.faster, one.dearer)
        ]
        rates = show.count(median(ours)), show.count(median(theirs))
        table.add_row(
            one.contest,
            str(one.threads),
            show.size(one.pool_bytes) if one.pool_bytes else "memory",
            one.ours,
            durable,
            rates[0],
            one.rival,
            durable_too,
            rates[1],
            *ratios,
        )
    return table


def bench(
    on: Annotated[
        Path | None,
        typer.Option("--on", metavar="DIR", help="Folder for the data; else this one, and /dev/shm for pm contests."),
    ] = None,
    contest: Contests = None,
    rival: Rivals = None,
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="Pairs of each.")] = 3,
    keys: Annotated[str, typer.Option("--keys", metavar="N", help="Entries of 128 bytes.")] = "1e6",
    threads: Annotated[
        list[int] | None,
        typer.Option("--threads", min=1, help="Threads, or terminals of TPC-C; may be repeated. 2 where none is said."),
    ] = None,
    duration: Annotated[str, typer.Option("--duration", metavar="TIME", help="Of a window.")] = "3s",
    warehouses: Annotated[int, typer.Option("--warehouses", min=1, help="Of TPC-C.")] = 2,
    durability: Durability = "none",
    seed: Annotated[int, typer.Option("--seed", help="Of keys, choices and the order of runs.")] = 1,
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Keep the records in DIR/work.")] = None,
    json: Json = False,
) -> None:
    """Measure Assay's structures beside rivals: adjacent pairs in random order, ratios with intervals.

    For example: assay rivals bench --on /mnt/data --contest cold-lookups --rival rocksdb
    """
    from assay.bench.beside import Missing, compare
    from assay.bench.contest import Size, named
    from assay.cli import output
    from assay.study.work.index import number
    from assay.units.parse import parse_seconds

    results: list[ContestResult | Missing] = []
    for each in threads or [2]:
        size = Size(number(keys, "--keys"), each, parse_seconds(duration), 1.0, warehouses, durability, seed)
        results += compare(named(contest or []), rival or [], size, repeats, on, out, output.tell)
    if json:
        output.emit([one.document() for one in results])
    else:
        _show(results, repeats, seed)
    if all(isinstance(one, Missing) for one in results):
        raise typer.Exit(FAILED)
