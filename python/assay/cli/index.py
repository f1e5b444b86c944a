"""`assay index`: its commands and their options."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

index_app = typer.Typer(
    help="Run persistent indexes: FPTree, BzTree, Dash, a B+-tree and a hash table on a drive; and rivals.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
Out = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Result folder; records go to DIR/work.")]
Keys = Annotated[str, typer.Option("--keys", metavar="N", help="Keys that are loaded first, such as 1e6 or 50M.")]
Duration = Annotated[str, typer.Option("--duration", metavar="TIME", help="Of the window; 5s by default.")]
AsIf = Annotated[
    str, typer.Option("--as-if", metavar="twin:NAME", help="Wait as long as these modules would; labelled emulated.")
]
KeyBytes = Annotated[str, typer.Option("--key-bytes", metavar="N|N-M", help="Bytes of keys, 8 to 1024.")]
ValueBytes = Annotated[str, typer.Option("--value-bytes", metavar="N|N-M", help="Bytes of values, up to 16384.")]
Seed = Annotated[int, typer.Option("--seed", help="Seed of keys and choices.")]

Workload = Annotated[
    str,
    typer.Option(
        "--workload", metavar="NAME", help="lookup, missing, insert, update, remove, scan, mixed, ycsb-a to -f."
    ),
]

Law = Annotated[
    str,
    typer.Option("--distribution", metavar="LAW", help="uniform, zipf[:0.99], self-similar[:0.2], latest[:0.99]."),
]

PoolFile = Annotated[
    Path | None,
    typer.Option("--pool-file", metavar="FILE", help="Keep the pool in this file; open it where it is there."),
]

Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="An option of the index; may be repeated.")
]


Batch = Annotated[
    int,
    typer.Option("--batch", metavar="N", min=1, max=256, help="Lookups of a thread that wait for the drive together."),
]
Split = Annotated[
    bool, typer.Option("--split", help="Each thread has a file, a pool and a part of the keys alone; on a drive.")
]
Path_ = Annotated[
    str, typer.Option("--path", metavar="PATH", help="To the drive: io_uring (usual), libaio, pread (and pwrite).")
]


class Study(StrEnum):
    """Sweeps that are ready-made."""

    JUNGLE = "jungle"


@index_app.command("list")
def list_(json: Json = False) -> None:
    """List the indexes, and whether this program has them."""
    from assay.cli.indexrun import show_list

    raise typer.Exit(show_list(json))


@index_app.command("run")
def run(
    index: Annotated[str, typer.Option("--index", metavar="KIND", help="Which; `assay index list`.")],
    workload: Workload,
    on: Annotated[
        str, typer.Option("--on", metavar="TARGET", help="Folder or device-DAX node; /dev/shm for indexes in memory.")
    ] = "",
    keys: Keys = "1e6",
    threads: Annotated[int, typer.Option("--threads", min=1, help="Threads that load and work.")] = 1,
    duration: Duration = "",
    operations: Annotated[
        str, typer.Option("--operations", metavar="N", help="End the window after so many instead.")
    ] = "",
    warmup: Annotated[str, typer.Option("--warmup", metavar="TIME", help="Before the window.")] = "0.5s",
    distribution: Law = "",
    key_bytes: KeyBytes = "8",
    value_bytes: ValueBytes = "8",
    scan_length: Annotated[int, typer.Option("--scan-length", min=1, help="Entries of a scan.")] = 100,
    pool: Annotated[
        str, typer.Option("--pool", metavar="BYTES", help="Of the pool in memory, or in front of the drive.")
    ] = "",
    pool_file: PoolFile = None,
    batch: Batch = 1,
    split: Split = False,
    path: Path_ = "",
    pin: Annotated[bool, typer.Option("--pin", help="Each thread keeps to a CPU.")] = False,
    huge_pages: Annotated[bool, typer.Option(help="Ask for huge pages, as a file system on DAX has them.")] = True,
    as_if: AsIf = "",
    count: Annotated[
        str, typer.Option("--count", metavar="N", help="Operations of the pass that counts flushes, fences and blocks.")
    ] = "100000",
    seed: Seed = 1,
    settings: Settings = None,
    out: Out = None,
    json: Json = False,
) -> None:
    """Run a workload on an index: load, window, checks, recovery, cost per operation.

    For example: assay index run --index fptree --workload ycsb-a --keys 1e6 --threads 2
    """
    from assay.cli.indexrun import run_one
    from assay.index import Wish

    wish = Wish(
        index=index,
        workload=workload,
        on=on,
        keys=keys,
        threads=threads,
        duration=duration,
        operations=operations,
        warmup=warmup,
        distribution=distribution,
        key_bytes=key_bytes,
        value_bytes=value_bytes,
        scan_length=scan_length,
        pool=pool,
        pool_file=pool_file,
        batch=batch,
        split=split,
        path=path,
        pin=pin,
        huge_pages=huge_pages,
        as_if=as_if,
        count=count,
        seed=seed,
        options=settings or [],
    )
    raise typer.Exit(run_one(wish, out, json))


@index_app.command("study")
def study(
    name: Annotated[Study, typer.Argument(metavar="jungle", help="Which sweep.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Result folder; a started one is continued.")],
    on: Annotated[str, typer.Option("--on", metavar="TARGET", help="Where indexes in memory lie.")] = "",
    on_drive: Annotated[str, typer.Option("--on-drive", metavar="DIR", help="Where indexes on a drive lie.")] = "",
    keys: Keys = "1e6",
    duration: Duration = "2s",
    key_bytes: KeyBytes = "8",
    value_bytes: ValueBytes = "8",
    pool: Annotated[str, typer.Option("--pool", metavar="BYTES", help="Buffer pool in front of the drive.")] = "",
    as_if: AsIf = "",
    only: Annotated[
        list[str] | None, typer.Option("--index", metavar="KIND", help="Only this one; may be repeated.")
    ] = None,
    threads: Annotated[int, typer.Option("--threads", min=0, help="At most so many; 0: as the machine has CPUs.")] = 0,
    seed: Seed = 1,
    json: Json = False,
) -> None:
    """Sweep indexes, workloads and threads, as a published study did; go on where it was stopped.

    For example: assay index study jungle --out results --keys 1e6
    """
    from assay.cli.indexrun import run_study
    from assay.index import Wish

    base = Wish(
        index="",
        workload="",
        keys=keys,
        duration=duration,
        key_bytes=key_bytes,
        value_bytes=value_bytes,
        pool=pool,
        as_if=as_if,
        seed=seed,
    )
    raise typer.Exit(run_study(name.value, base, {True: on, False: on_drive}, only or [], threads, out, json))


@index_app.command("cost")
def cost(
    inside: Annotated[Path, typer.Option("--in", metavar="DIR", help="The folder that `index run --out` wrote to.")],
    dram: Annotated[
        list[int] | None, typer.Option("--dram", metavar="N", help="Modules of 32 GB of DRAM; may be repeated.")
    ] = None,
    quotes: Annotated[
        Path | None, typer.Option("--quotes", metavar="FILE", help="Your own prices and exchange rates; they win.")
    ] = None,
    data: Annotated[
        str, typer.Option("--data", metavar="BYTES", help="Keys and values together, such as 100GB; DRAM is the pool.")
    ] = "",
    band: Annotated[float, typer.Option("--band", help="Sensitivity: each price from 1/BAND to BAND times.")] = 2.0,
    as_of: Annotated[
        str | None, typer.Option("--as-of", metavar="DATE", help="Prices of that day at the latest.")
    ] = None,
    json: Json = False,
) -> None:
    """Performance per dollar of runs, on this machine and on the hardware of a published study through twins.

    With --data, DRAM is the pool of indexes on a drive, and runs with pools of several sizes say what each size gives.
    """
    from assay.cli.indexcost import show_cost

    raise typer.Exit(show_cost(inside, dram or [1, 2, 6], quotes, as_of, (band, data), json))


@index_app.command("nodes")
def nodes(
    on: Annotated[list[str], typer.Option("--on", metavar="TARGET", help="A folder or a twin; may be repeated.")],
    keys: Annotated[str, typer.Option("--keys", metavar="N", help="Entries of the tree, such as 1e8.")] = "1e8",
    path: Annotated[
        str, typer.Option("--path", metavar="PATH", help="In a folder: DAX, or `file I/O, direct`.")
    ] = "file I/O, direct",
    sizes: Annotated[
        list[str] | None, typer.Option("--size", metavar="BYTES", help="Of a node; may be repeated.")
    ] = None,
    entry: Annotated[int, typer.Option("--entry-bytes", min=2, help="Key and child of an entry.")] = 16,
    data: Annotated[str, typer.Option("--data", metavar="BYTES", help="Read from, in a folder.")] = "1GiB",
    json: Json = False,
) -> None:
    """Lookup time against node size: depth of the tree times what reading a node takes, measured or on twins."""
    from assay.cli.indexcost import show_nodes
    from assay.index.job import number
    from assay.index.nodes import Tree

    tree = Tree(number(keys, "--keys"), entry)
    raise typer.Exit(show_nodes(on, path, sizes or [], tree, data, json))
