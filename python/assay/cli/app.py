"""The commands. Each loads what it needs when it runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from assay import __version__
from assay.cli.advise import advise
from assay.cli.choose import choose
from assay.cli.claims import claims
from assay.cli.cost import cost_app
from assay.cli.dbms import dbms_app
from assay.cli.engine import engine_app
from assay.cli.fit import fit
from assay.cli.index import index_app
from assay.cli.predict import predict
from assay.cli.reproduce import reproduce
from assay.cli.soak import soak
from assay.cli.trace import trace

app = typer.Typer(
    name="assay",
    help="Measures the storage under a folder the way a database uses it, and says whether to believe it.",
    no_args_is_help=True,
    add_completion="_ASSAY_COMPLETE" in os.environ,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
bench_app = typer.Typer(help="Compare Assay's own cost with fio's.", no_args_is_help=True, rich_markup_mode=None)
fio_app = typer.Typer(help="Read job files of fio, and write them.", no_args_is_help=True, rich_markup_mode=None)
lab_app = typer.Typer(
    help="Check paths in an emulated machine that has persistent memory, NVMe drives and arrays.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(bench_app, name="bench")
app.add_typer(fio_app, name="fio")
app.add_typer(cost_app, name="cost")
app.add_typer(index_app, name="index")
app.add_typer(dbms_app, name="dbms")
app.add_typer(engine_app, name="engine")
app.add_typer(lab_app, name="lab")


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


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"assay {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    del version


@app.command()
def quick(
    on: On = None,
    out: Out = None,
    settings: Set = None,
    host: Host = "",
    seed: Seed = 1,
    dry_run: DryRun = False,
    no_report: NoReport = False,
    json: Json = False,
) -> None:
    """Measure the disk under a folder in four minutes.

    Runs small versions of the studies, prints the short answer and writes report.html. Never takes more than a tenth
    of the free space.
    """
    from assay.cli.measure import Order, measure

    order = Order(
        study="quick",
        on=on or ["."],
        out=out,
        settings=settings or [],
        host=host,
        seed=seed,
        dry_run=dry_run,
        report=not no_report,
        json=json,
    )
    raise typer.Exit(measure(order))


@app.command()
def run(
    study: Annotated[
        str, typer.Argument(metavar="STUDY|FILE", autocompletion=_studies, help="Name or TOML file.")
    ] = "",
    on: On = None,
    settings: Set = None,
    out: Out = None,
    profile: Annotated[str | None, typer.Option("--profile", help="Settings of the study file, such as quick.")] = None,
    repeats: Annotated[int | None, typer.Option("--repeats", min=1, help="How often each cell runs.")] = None,
    seed: Seed = 1,
    dry_run: DryRun = False,
    resume: Annotated[Path | None, typer.Option("--resume", metavar="DIR", help="Continue a run.")] = None,
    serial: Serial = None,
    yes_destroy: Destroy = False,
    host: Host = "",
    no_report: NoReport = False,
    json: Json = False,
) -> None:
    """Run a study, by name or file.

    A study is a declared matrix of scenarios, targets, paths and parameters; `assay list` shows the ready-made ones.
    """
    from assay.cli.measure import Order, measure, proceed

    if resume is not None:
        raise typer.Exit(proceed(resume, bool(study or on or settings or out), not no_report, json))
    order = Order(
        study=study,
        on=on or ["."],
        settings=settings or [],
        out=out,
        profile=profile,
        repeats=repeats,
        seed=seed,
        dry_run=dry_run,
        serials=serial or [],
        yes_destroy=yes_destroy,
        host=host,
        report=not no_report,
        json=json,
    )
    raise typer.Exit(measure(order))


@app.command(name="list")
def list_(
    what: Annotated[str, typer.Argument(metavar="studies|paths|twins|hosts", help="What to list.")] = "studies",
    on: On = None,
    json: Json = False,
) -> None:
    """List the ready-made studies, the paths, or the twins and hosts of the catalog."""
    from assay.cli.listing import show

    raise typer.Exit(show(what, on or [], json))


@app.command()
def doctor(on: On = None, json: Json = False) -> None:
    """Look at the machine before measuring.

    Says what it saw, why it matters, and the command that mends it.
    """
    from assay.cli.parts import part

    raise typer.Exit(part("machine").doctor(on or ["."], json))


@app.command()
def report(
    directory: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="Result folder; the newest by default.")
    ] = None,
    export: Annotated[
        bool, typer.Option("--export", help="Also write each figure to DIR/figures as PNG, SVG, CSV and Parquet.")
    ] = False,
    pdf: Annotated[bool, typer.Option("--pdf", help="Also write report.pdf, a summary of one page.")] = False,
    json: Json = False,
) -> None:
    """Write report.html for a result folder.

    The answer first, then what to change, where the gain is lost, what it costs, and every record.
    """
    from assay.cli.results import write_report

    raise typer.Exit(write_report(directory, export, pdf, json))


@app.command()
def query(
    sql: Annotated[str, typer.Argument(metavar="SQL", help="A query over classes, intervals, verdicts, runs, cells.")],
    inside: Annotated[
        list[Path] | None, typer.Option("--in", metavar="DIR", help="Result folder; may be repeated.")
    ] = None,
    json: Json = False,
    csv: Annotated[bool, typer.Option("--csv", help="Comma-separated values on standard output.")] = False,
) -> None:
    """Ask the results in SQL (DuckDB)."""
    from assay.cli.results import ask

    raise typer.Exit(ask(sql, inside or [], json, csv))


@app.command()
def schema(
    document: Annotated[
        str, typer.Argument(metavar="job|event|record|study|twin", help="Of which document.")
    ] = "study",
    json: Json = False,
) -> None:
    """Print a JSON Schema."""
    from assay.cli.listing import show_schema

    del json  # It is JSON either way.
    raise typer.Exit(show_schema(document))


@app.command()
def clean(
    directories: Annotated[
        list[Path] | None, typer.Argument(metavar="DIR...", help="Folders that were measured.")
    ] = None,
    json: Json = False,
) -> None:
    """Remove what killed runs left in folders."""
    from assay.cli.cleaning import clean_up

    raise typer.Exit(clean_up(directories or [Path()], json))


@app.command()
def verify(
    on: Annotated[str, typer.Option("--on", metavar="DIR", help="Folder to write in.")] = ".",
    path: Annotated[str, typer.Option("--path", help="Path and options, such as pread or io_uring+direct.")] = "pread",
    durability: Annotated[str, typer.Option("--durability", help="What makes writes durable.")] = "fdatasync",
    kills: Annotated[int, typer.Option("--kills", min=1, help="How often the writer is killed.")] = 3,
    size: Annotated[str, typer.Option("--size", help="Bytes of a write.")] = "4KiB",
    data: Annotated[str, typer.Option("--data", help="Bytes of the file.")] = "64MiB",
    seed: Seed = 1,
    json: Json = False,
) -> None:
    """Check durability by killing a writer.

    The writer is killed in mid-stream; what it was told is durable must be there.
    """
    from assay.cli.durability import Check, check

    raise typer.Exit(check(Check(on, path, durability, kills, size, data, seed), json))


@bench_app.command("null")
def bench_null(json: Json = False) -> None:
    """The generator's own ceiling beside fio's null engine."""
    from assay.cli.parts import part

    raise typer.Exit(part("bench").run("null", json))


@bench_app.command("fio")
def bench_fio(json: Json = False) -> None:
    """CPU cycles per operation and throughput beside fio's, same file, same engine and depth."""
    from assay.cli.parts import part

    raise typer.Exit(part("bench").run("fio", json))


@bench_app.command("pmem")
def bench_pmem(json: Json = False) -> None:
    """Bandwidth of the pmem path on tmpfs beside fio's libpmem."""
    from assay.cli.parts import part

    raise typer.Exit(part("bench").run("pmem", json))


@bench_app.command("twin")
def bench_twin(json: Json = False) -> None:
    """Simulated operations and analytic points per second of one core."""
    from assay.cli.parts import part

    raise typer.Exit(part("bench").run("twin", json))


@fio_app.command("import")
def fio_import(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A job file of fio's.")],
    out: Annotated[Path | None, typer.Option("--out", metavar="STUDY.toml", help="Where to write the study.")] = None,
    section: Annotated[list[str] | None, typer.Option("--section", help="Only this job; may be repeated.")] = None,
    leave_out: Annotated[bool, typer.Option("--leave-out", help="Leave out what cannot be carried over.")] = False,
    json: Json = False,
) -> None:
    """Make a study of a job file of fio's."""
    from assay.cli.results import import_fio

    raise typer.Exit(import_fio(file, out, section or [], leave_out, json))


@fio_app.command("export")
def fio_export(
    cell: Annotated[str, typer.Argument(metavar="CELL", help="Id of a cell, or a job as JSON file.")],
    inside: Annotated[
        Path | None, typer.Option("--in", metavar="DIR", help="Result folder; the newest by default.")
    ] = None,
    json: Json = False,
) -> None:
    """Write fio's job file for a cell, so that anyone can cross-check."""
    from assay.cli.results import export_fio

    raise typer.Exit(export_fio(cell, inside, json))


@fio_app.command("crosscheck")
def fio_crosscheck(
    cell: Annotated[str, typer.Argument(metavar="CELL", help="Id of a cell, or a job as JSON file.")],
    inside: Annotated[
        Path | None, typer.Option("--in", metavar="DIR", help="Result folder; the newest by default.")
    ] = None,
    repeats: Annotated[int, typer.Option("--repeats", min=2, help="How often each of the two runs it.")] = 5,
    json: Json = False,
) -> None:
    """Run a cell by fio and by Assay in turn.

    Both use the same files. The exit code is 0 where the intervals of both agree, otherwise 1.
    """
    from assay.cli.results import crosscheck_fio

    raise typer.Exit(crosscheck_fio(cell, inside, repeats, json))


Accel = Annotated[str, typer.Option("--accel", metavar="auto|kvm|tcg", help="The processor's virtualisation, or none.")]
Memory = Annotated[str, typer.Option("--memory", metavar="SIZE", help="Memory of the guest.")]
Vmlinuz = Annotated[Path | None, typer.Option("--kernel", metavar="VMLINUZ", help="Kernel of the guest.")]
Modules = Annotated[Path | None, typer.Option("--modules", metavar="DIR", help="Its folder /lib/modules/VERSION.")]


@lab_app.command("run")
def lab_run(
    suites: Annotated[
        list[str] | None, typer.Argument(metavar="SUITE...", help="Suites, or SUITE/CHECK; `ci` by default.")
    ] = None,
    out: Out = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the guest's console among the results.")] = False,
    accel: Accel = "auto",
    memory: Memory = "2GiB",
    kernel: Vmlinuz = None,
    modules: Modules = None,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="Of all random choices; drawn and shown without.")
    ] = None,
    json: Json = False,
) -> None:
    """Boot the emulated machine and check behaviour in it.

    No time or bandwidth in there says anything about a device.
    """
    from assay.cli.lab import Options, run

    raise typer.Exit(run(suites or [], Options(accel, memory, kernel, modules), out, keep, json, seed))


@lab_app.command("shell")
def lab_shell(
    accel: Accel = "auto",
    memory: Memory = "2GiB",
    kernel: Vmlinuz = None,
    modules: Modules = None,
) -> None:
    """A shell in the emulated machine, with everything attached."""
    from assay.cli.lab import Options, shell

    raise typer.Exit(shell(Options(accel, memory, kernel, modules)))


@lab_app.command("doctor")
def lab_doctor(json: Json = False) -> None:
    """What the lab finds here, what is missing, and the command that mends it."""
    from assay.cli.lab import examine

    raise typer.Exit(examine(json))


@lab_app.command("list")
def lab_list(json: Json = False) -> None:
    """List the suites with their checks."""
    from assay.cli.lab import listing

    raise typer.Exit(listing(json))


@app.command()
def completion(
    shell: Annotated[str, typer.Argument(metavar="bash|zsh|fish", help="The shell.")] = "bash",
    json: Json = False,
) -> None:
    """Print a completion script for a shell.

    For example: assay completion bash >> ~/.bashrc
    """
    from assay.cli.listing import show_completion

    raise typer.Exit(show_completion(shell, json))


# These stand in modules of their own; named here, they come after the commands above in the list.
app.command()(advise)
app.command()(choose)
app.command()(claims)
app.command()(fit)
app.command()(predict)
app.command()(reproduce)
app.command()(soak)
app.command()(trace)
