"""Commands that are short for studies of work: what was typed as a study, and its records as they are shown."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import typer
from rich.console import Console

from assay.binary import Binary
from assay.cli import output
from assay.cli.dbms.resume import plain, refuse_more
from assay.cli.measure.order import RunFlags, measured
from assay.cli.runners import written
from assay.error import BAD_JOB, NOT_POSSIBLE, AssayError
from assay.record import WorkRecord
from assay.results.files import read_json
from assay.study import plan, run
from assay.study.consent import Consent
from assay.study.observer import watching
from assay.study.run import Summary
from assay.study.work import show
from assay.study.work.runners import WorkRunner, register
from assay.target import names
from assay.untyped import Json

# What the study's other parts say, or a command line alone.
_NOT_WORK = (
    *("on", "repeats", "seed", "pg_bin", "connect", "external", "program", "out", "resume", "dry_run", "json"),
    *("host", "cores", "clock", "serial", "yes_destroy"),
)


@dataclass(frozen=True)
class ShortStudy:
    """What a command is short for: a kind of work, parts that can lie apart, and how its records are said."""

    name: str
    command: str
    """Its words, such as `dbms tpcc`."""
    question: str
    kind: str
    say: Callable[[Sequence[WorkRecord], Console], None]
    runner: Callable[[], WorkRunner] | None = None
    """Who does it, where that is not the measuring program; such a command has a `--resume` of its own."""
    parts: Sequence[str] = ()
    columns: Sequence[str] = ()
    """Flags with several values: factors of the matrix."""
    targets: Sequence[str] = ("folder",)
    """Kinds of target that it runs on."""
    document: Callable[[Sequence[WorkRecord], Sequence[Path]], Any] = lambda records, _: records
    """What `--json` prints of records and their files."""


def carry_out(asked: ShortStudy, flags: Json, context: typer.Context | None = None) -> int:
    """Runs the study, or what is left of it, and shows its records; returns the exit code."""
    given = {key: plain(value) for key, value in flags.items()}
    if asked.runner is not None:
        register({asked.kind: asked.runner})
    if given.get("resume") and context is not None:
        refuse_more(context)
        summary: Summary | None = _resumed(asked, Path(given["resume"]), given["json"])
    else:
        summary = measured(_flags(asked, given))
    return 0 if summary is None else _shown(asked, summary, given["json"])


def _flags(asked: ShortStudy, given: Json) -> RunFlags:
    table = {key: value for key, value in given.items() if key not in (*_NOT_WORK, *asked.parts, *asked.columns)}
    columns = {key: given[key] for key in asked.columns}
    apart = [f"{part}={given[part]}" for part in asked.parts if given[part]]
    work = {"kind": asked.kind, **table}
    on = [*(given["on"] or ["."]), *apart]
    return RunFlags(
        study=written((asked.name, asked.command), asked.question, given["repeats"], work, columns, asked.targets),
        on=on,
        out=Path(given["out"]) if given["out"] else None,
        settings=_driver(given, on),
        seed=given.get("seed", 1),
        dry_run=given["dry_run"],
        serials=given.get("serial") or [],
        host=given.get("host", ""),
        yes_destroy=given.get("yes_destroy", False),
        json=given["json"],
        yes=True,
    )


def _driver(given: Json, on: Sequence[str]) -> list[str]:
    """What was said of the host that drives twins, as settings."""
    said = {key: given[key] for key in ("host", "cores", "clock") if given.get(key)}
    if said and not any(names.PREFIX in one for one in on):
        hint = "leave them away, or name a twin, such as --on 'twin:970evoplus*4'"
        raise AssayError("--host, --cores and --clock are for twins", hint=hint, code=BAD_JOB)
    return [f"{key}={said[key]}{unit}" for key, unit in (("cores", ""), ("clock", "GHz")) if key in said]


def _resumed(asked: ShortStudy, folder: Path, as_json: bool) -> Summary:
    command = f"assay {asked.command}"
    if not (folder / "plan.json").is_file() and list(folder.glob("dbms-*.jsonl")):
        message = f"the run in {folder} was begun by an earlier version of Assay"
        raise AssayError(message, hint="go on with that one, or begin a new run; its records can be read", code=BAD_JOB)
    jobs = [cell.job for cell in plan.load(folder / "plan.json").cells if cell.program == (asked.kind,)]
    if not jobs:
        message = f"{folder} holds no run of `{command}` to go on with"
        raise AssayError(message, hint="name the folder that --out named, or the newest in assay-results", code=BAD_JOB)
    if gone := next((job["target"] for job in jobs if not Path(job["target"]).is_dir()), ""):
        hint = "mount it there again; what was on a drive that was played went with it: begin a new run"
        raise AssayError(f"{gone}, where the run works, is gone", hint=hint, code=NOT_POSSIBLE)
    return run.resume(folder, Binary.find(), watching(as_json), Consent(), command)


def _shown(asked: ShortStudy, summary: Summary, as_json: bool) -> int:
    records = records_of(summary.directory)
    if not records and summary.not_measured and not summary.ending.interrupted:
        one = summary.not_measured[0]
        raise AssayError(one["reason"], hint=one["fix"], code=one["exit_code"])
    if as_json:
        output.emit(asked.document(list(records.values()), list(records)))
    elif records:
        console = Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else 160)
        with output.to_reader():
            asked.say(list(records.values()), console)
        output.say(f"records in {summary.directory}/work")
    for one in summary.not_measured:
        output.tell(f"error: {output.sentences(one['reason'], one['fix'])}")
    if summary.ending.interrupted or (summary.ending.count("failed") and summary.ending.count("finished")):
        command = asked.command if asked.runner is not None else "run"
        output.tell(f"go on with it: assay {command} --resume {summary.directory}")
    return summary.exit_code


def records_of(directory: Path) -> dict[Path, WorkRecord]:
    """The records of a study's cells by their files, as they were declared."""
    paths = [cell.record_in(directory) for cell in plan.load(directory / "plan.json").in_file_order]
    return {path: cast("WorkRecord", read_json(path)) for path in paths if path.is_file()}


def say_each(records: Sequence[WorkRecord], console: Console) -> None:
    """Shows records one after another."""
    for record in records:
        show(record, console)
