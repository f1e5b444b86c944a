"""`assay index run`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli.flags import Destroy, DryRun, JsonFlag, Out, Repeats
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

Workload = Annotated[
    list[str],
    typer.Option(
        "--workload",
        metavar="NAME",
        help="lookup, missing, insert, update, remove, scan, mixed, ycsb-a to -f; may be repeated.",
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
    list[str] | None,
    typer.Option(
        "--on",
        metavar="TARGET",
        help="Folder, device-DAX node or twin:NAME; /dev/shm for those in memory; may be repeated.",
    ),
]


Operations = Annotated[str, typer.Option("--operations", metavar="N", help="End the window after so many instead.")]


def _run(given: dict[str, Any]) -> int:
    from assay.cli.index.one import run_one

    return run_one(given | vars(given.pop("flags")))


@sharing(TwinFlags)
def run(
    index: Annotated[str, typer.Option("--index", metavar="KIND", help="Which; `assay index list`.")],
    workload: Workload,
    on: On = None,
    keys: Keys = "1e6",
    threads: Annotated[
        list[int] | None, typer.Option("--threads", min=1, help="Threads that load and work, 1; may be repeated.")
    ] = None,
    duration: Duration = "",
    operations: Operations = "",
    warmup: Warmup = "",
    distribution: Law = "",
    key_bytes: KeyBytes = "8",
    value_bytes: ValueBytes = "8",
    scan_length: Annotated[int, typer.Option("--scan-length", min=1, help="Entries of a scan.")] = 100,
    pool: Annotated[
        list[str] | None,
        typer.Option(
            "--pool", metavar="BYTES", help="Of the pool in memory, or in front of the drive; may be repeated."
        ),
    ] = None,
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
    options: Settings = None,
    yes_destroy: Destroy = False,
    repeats: Repeats = 1,
    out: Out = None,
    dry_run: DryRun = False,
    json: JsonFlag = False,
    *,
    flags: TwinFlags,
) -> None:
    """Run a workload on an index: load, window, checks, recovery, cost per operation.

    For example: assay index run --index fptree --workload ycsb-a --keys 1e6 --on 'twin:pmem100-128g*4' --threads 20
    """
    raise typer.Exit(_run(locals()))
