"""`assay index run`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.flags import Json
from assay.cli.index.flags import (
    AsIf,
    Batch,
    Duration,
    KeyBytes,
    Keys,
    Law,
    Seed,
    TwinFlags,
    ValueBytes,
    Warmup,
)
from assay.cli.sharing import sharing

Out = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Result folder; records go to DIR/work.")]


Workload = Annotated[
    str,
    typer.Option(
        "--workload", metavar="NAME", help="lookup, missing, insert, update, remove, scan, mixed, ycsb-a to -f."
    ),
]


PoolFile = Annotated[
    Path | None,
    typer.Option("--pool-file", metavar="FILE", help="Keep the pool in this file; open it where it is there."),
]


Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="An option of the index; may be repeated.")
]


Split = Annotated[
    bool, typer.Option("--split", help="Each thread has a file, a pool and a part of the keys alone; on a drive.")
]


Path_ = Annotated[
    str, typer.Option("--path", metavar="PATH", help="To the drive: io_uring (usual), libaio, pread (and pwrite).")
]


On = Annotated[
    str,
    typer.Option("--on", metavar="TARGET", help="Folder, device-DAX node or twin:NAME; /dev/shm for those in memory."),
]


Operations = Annotated[str, typer.Option("--operations", metavar="N", help="End the window after so many instead.")]


@sharing(TwinFlags)
def run(
    index: Annotated[str, typer.Option("--index", metavar="KIND", help="Which; `assay index list`.")],
    workload: Workload,
    on: On = "",
    keys: Keys = "1e6",
    threads: Annotated[int, typer.Option("--threads", min=1, help="Threads that load and work.")] = 1,
    duration: Duration = "",
    operations: Operations = "",
    warmup: Warmup = "",
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
    *,
    flags: TwinFlags,
) -> None:
    """Run a workload on an index: load, window, checks, recovery, cost per operation.

    For example: assay index run --index fptree --workload ycsb-a --keys 1e6 --on 'twin:pmem100-128g*4' --threads 20
    """
    from assay.cli.index.one import run_one
    from assay.index import TwinWish, Wish

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
        twin=TwinWish(flags.host, flags.cores, flags.clock, flags.turn, flags.cache),
    )
    raise typer.Exit(run_one(wish, out, json))
