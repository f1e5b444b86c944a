"""`assay index study`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.flags import DryRun, JsonFlag, Repeats
from assay.cli.index.flags import AsIf, Duration, KeyBytes, Keys, Seed, TwinFlags, ValueBytes
from assay.cli.sharing import sharing


class IndexStudy(StrEnum):
    """Sweeps that are ready-made."""

    JUNGLE = "jungle"


On = Annotated[
    list[str] | None,
    typer.Option("--on", metavar="TARGET", help="Where indexes in memory lie, or a twin for either; may be repeated."),
]
Only = Annotated[list[str] | None, typer.Option("--index", metavar="KIND", help="Only this one; may be repeated.")]
Workload = Annotated[
    list[str] | None, typer.Option("--workload", metavar="NAME", help="Only this one; may be repeated.")
]


@sharing(TwinFlags)
def study(
    name: Annotated[IndexStudy, typer.Argument(metavar="jungle", help="Which sweep.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Result folder; a started one is continued.")],
    on: On = None,
    on_drive: Annotated[str, typer.Option("--on-drive", metavar="DIR", help="Where indexes on a drive lie.")] = "",
    keys: Keys = "1e6",
    duration: Duration = "",
    key_bytes: KeyBytes = "8",
    value_bytes: ValueBytes = "8",
    pool: Annotated[str, typer.Option("--pool", metavar="BYTES", help="Buffer pool in front of the drive.")] = "",
    as_if: AsIf = "",
    only: Only = None,
    workload: Workload = None,
    threads: Annotated[int, typer.Option("--threads", min=0, help="At most so many; 0: as the machine has CPUs.")] = 0,
    repeats: Repeats = 1,
    seed: Seed = 1,
    dry_run: DryRun = False,
    json: JsonFlag = False,
    *,
    flags: TwinFlags,
) -> None:
    """Sweep indexes, workloads and threads, as a published study did; go on where it was stopped.

    For example: assay index study jungle --out results --on 'twin:pmem100-128g*1' --on 'twin:pmem100-128g*6'
    """
    from assay.cli.index.running import Narrowed, SweepFlags, run_study
    from assay.index.sweep import CommonParts, places
    from assay.target.host import HostWish

    words = {"keys": keys, "duration": duration, "key_bytes": key_bytes, "value_bytes": value_bytes}
    words |= {"turn": flags.turn, "cache": flags.cache}
    host = HostWish(flags.host, flags.cores, flags.clock * 1e9 if flags.clock else None)
    common = CommonParts(words, {"as_if": as_if}, {"pool": pool}, host, seed)
    narrowed = Narrowed(tuple(only or ()), tuple(workload or ()), threads)
    asked = SweepFlags(name.value, places(on or [], on_drive), narrowed, out, repeats, dry_run, json)
    raise typer.Exit(run_study(common, asked))
