"""Options that many commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def _studies(incomplete: str) -> list[str]:
    from assay import home

    return sorted(path.stem for path in home.studies().glob(f"{incomplete}*.toml"))


On = Annotated[
    list[str] | None,
    typer.Option(
        "--on",
        metavar="TARGET",
        help="Folder, file, /dev/..., memory, null, twin:NAME, or A+B as a pseudo-RAID; ROLE=TARGET gives it a role.",
    ),
]
Out = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Result folder.")]
Set = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a parameter, or a factor: key=a,b,c.")
]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
NoReport = Annotated[bool, typer.Option("--no-report", help="Leave the records; write no report.html.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show cells, time, bytes written, room needed; touch nothing.")]
Seed = Annotated[int, typer.Option("--seed", help="Seed of order and offsets.")]
Serial = Annotated[list[str] | None, typer.Option("--serial", metavar="S", help="Serial number of a device, in order.")]
Host = Annotated[str, typer.Option("--host", metavar="NAME", help="Host that drives twins; `assay list hosts`.")]
Destroy = Annotated[bool, typer.Option("--yes-destroy", help="The content of the devices may be destroyed.")]
Accel = Annotated[str, typer.Option("--accel", metavar="auto|kvm|tcg", help="The processor's virtualisation, or none.")]
Memory = Annotated[str, typer.Option("--memory", metavar="SIZE", help="Memory of the guest.")]
Vmlinuz = Annotated[Path | None, typer.Option("--kernel", metavar="VMLINUZ", help="Kernel of the guest.")]
Modules = Annotated[Path | None, typer.Option("--modules", metavar="DIR", help="Its folder /lib/modules/VERSION.")]
Counting = Annotated[
    str | None,
    typer.Option(
        "--counting", metavar="HOW", help="When hardware counters run: auto, in-window, own-window, accounts."
    ),
]
Pin = Annotated[
    list[str] | None,
    typer.Option("--pin", metavar="[CLASS=]CPUS", help="Threads keep to CPUs (0,2-5) or NUMA nodes (node:0), in turn."),
]
