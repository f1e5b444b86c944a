"""`assay fit`: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.executors import Keys, Scheduler, Workers
from assay.cli.flags import JsonFlag

Points = Annotated[Path | None, typer.Option("--points", metavar="FILE.csv", help="Published latencies under load.")]
Drive = Annotated[str, typer.Option("--drive", metavar="NAME", help="Which drive of --points.")]
Rows = Annotated[
    str, typer.Option("--rows", metavar="RATE,RATE", help="Asked rates of --points to fit to; all by default.")
]
Seconds = Annotated[
    float | None, typer.Option("--seconds-per-point", min=0.1, metavar="S", help="Of each repeat; 0.5 by default.")
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a parameter, such as data=8GiB.")
]
Uncertified = Annotated[
    bool, typer.Option("--uncertified", help="Write the twin even where it is not certified, and mark it.")
]
Serial = Annotated[list[str] | None, typer.Option("--serial", metavar="S", help="Serial number of a device.")]
On = Annotated[
    str, typer.Option("--on", metavar="TARGET", help="Folder on the device, file, block device, or twin:NAME.")
]
Out = Annotated[
    Path | None, typer.Option("--out", metavar="FILE.toml", help="Twin file; FILE-host.toml lies beside it.")
]
Destroy = Annotated[bool, typer.Option("--yes-destroy", help="The content of the device may be destroyed.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show time, bytes and room needed; touch nothing.")]


def fit(
    on: On = "",
    source: Annotated[
        Path | None, typer.Option("--from", metavar="FILE.csv|DIR", help="A published grid, or results of a fit.")
    ] = None,
    points: Points = None,
    drive: Drive = "",
    rows: Rows = "",
    out: Out = None,
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="Name of the twin.")] = "",
    seconds: Seconds = None,
    settings: Settings = None,
    results: Annotated[Path | None, typer.Option("--results", metavar="DIR", help="Result folder.")] = None,
    resume: Annotated[Path | None, typer.Option("--resume", metavar="DIR", help="Continue a fit.")] = None,
    uncertified: Uncertified = False,
    serial: Serial = None,
    yes_destroy: Destroy = False,
    host: Annotated[str, typer.Option("--host", metavar="NAME", help="Host that drives a twin.")] = "",
    cite: Annotated[str, typer.Option("--cite", metavar="TEXT", help="Where the grid was published.")] = "",
    seed: Annotated[int, typer.Option("--seed", help="Seed of order and offsets.")] = 1,
    dry_run: DryRun = False,
    workers: Workers = 0,
    scheduler: Scheduler = "",
    certificates: Keys = None,
    json: JsonFlag = False,
) -> None:
    """Make a twin of a device in about four minutes, and say how far off it is on points it did not see.

    Or fit the model of interleaved memory to a published grid with the columns dimms, op, pattern, persist,
    access_bytes, threads, gib_per_s; or a drive to published latencies under load (--points). For example:
    assay fit --on /mnt/drive --out mine.toml
    """
    from assay.cli.executors import ExecutorWish
    from assay.cli.twins.fitting import FitOrder, fit_device
    from assay.error import BAD_JOB, AssayError

    if sum(each is not None and each != "" for each in (on, source, resume, points)) != 1:
        hint = "name a target, results or a grid, a table, or a folder to continue"
        problem = "assay fit needs exactly one of --on, --from, --points and --resume"
        raise AssayError(problem, hint=hint, code=BAD_JOB)
    if points is None and (drive or rows):
        raise AssayError("--drive and --rows choose from --points", hint="name the table as well", code=BAD_JOB)
    if points is not None:
        from assay.cli.twins.checking import fit_points

        raise typer.Exit(fit_points(points, drive, rows, settings or [], name, out, json))
    if source is not None and not source.is_dir():
        raise typer.Exit(_grid(source, out, cite, json))
    order = FitOrder(
        on=on,
        results=results,
        resume=resume,
        source=source,
        out=out,
        name=name,
        seconds_per_point=seconds,
        host=host,
        serials=serial or [],
        yes_destroy=yes_destroy,
        settings=settings or [],
        seed=seed,
        uncertified=uncertified,
        dry_run=dry_run,
        json=json,
        executor=ExecutorWish(workers, scheduler, certificates),
    )
    raise typer.Exit(fit_device(order))


def _grid(source: Path, out: Path | None, cite: str, json: bool) -> int:
    """Fits a published grid; returns the exit code."""
    from assay.cli import output
    from assay.error import DONE, NOT_POSSIBLE
    from assay.twin.fit_report import CERTIFIED, fit_file

    found = fit_file(source, cite)
    if out is not None:
        out.write_text(found["toml"], encoding="utf-8")
    if json:
        output.emit(found)
        return DONE if found["certified"] else NOT_POSSIBLE
    for kind in found["kinds"]:
        held = kind["held_out"]
        unseen = "one set of modules only: nothing held out"
        if held is not None:
            unseen = f"held out: mean {held['mean']:.1%}, median {held['median']:.1%}, worst {held['worst']:.1%}"
        output.say(f"{kind['kind']:17} {kind['points']:3} points, median error {kind['error_median']:.1%}; {unseen}")
    if not found["certified"]:
        output.say(f"Not certified: a kind of access is missed by more than {CERTIFIED:.0%} in the median.")
        return NOT_POSSIBLE
    return DONE
