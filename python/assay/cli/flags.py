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
JsonFlag = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
NoReport = Annotated[bool, typer.Option("--no-report", help="Leave the records; write no report.html.")]
Repeats = Annotated[int, typer.Option("--repeats", min=1, help="Runs of each; 3 allow a test.")]
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
Cache = Annotated[
    str | None,
    typer.Option("--cache", metavar="BYTES", help="Bytes that the page cache may fill, by a control group."),
]
Pin = Annotated[
    list[str] | None,
    typer.Option("--pin", metavar="[CLASS=]CPUS", help="Threads keep to CPUs (0,2-5) or NUMA nodes (node:0), in turn."),
]
Junit = Annotated[Path | None, typer.Option("--junit", metavar="FILE", help="Also write the outcome as JUnit's XML.")]
Markdown = Annotated[
    Path | None, typer.Option("--markdown", metavar="FILE", help="Also write the outcome as a table in Markdown.")
]
Baseline = Annotated[
    Path | None, typer.Option("--baseline", metavar="DIR", help="Hold the run against this earlier result folder.")
]
Drift = Annotated[
    str, typer.Option("--drift-at-most", metavar="SHARE", help="What may have drifted between sides run apart.")
]
Bound = Annotated[
    str, typer.Option("--fail-if-slower", metavar="SHARE", help="Exit code 6 where B is shown to lose more.")
]
UndecidedFails = Annotated[bool, typer.Option("--undecided-fails", help="Exit code 5 where that bound is undecided.")]
