"""`--resume` of the commands that run databases: flags that are kept, and taken up again."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from assay.dbms.progress import Progress

Json = dict[str, Any]
Resume = Annotated[
    Path | None, typer.Option("--resume", metavar="DIR", help="Go on with the run that this result folder holds.")
]
# A connection string may have a password, and stays out of files: it is given again.
_AGAIN = ("connect", "json")
# A file names no program that is run, and gives no leave: it says what was given, and that is to be given again.
_ANEW = ("pg_bin", "program", "external")
# Settings of PostgreSQL that name programs or libraries.
_RUNS = re.compile(r"_command$|_librar(?:y|ies)$|_library_path$|_program$", re.IGNORECASE)
_OWN = ("resume", "out", *_AGAIN)


def progress_of(context: typer.Context, flags: Json, command: str, name: str) -> tuple[Progress, Json]:
    """The progress of a run, new or taken up again, and its flags; `name` begins the name of a new folder."""
    from assay.dbms import secret
    from assay.dbms.progress import Progress

    given = {key: value for key, value in flags.items() if key in context.params}
    resume = given.pop("resume")
    secret.refuse_in(str(given.get("connect") or ""))
    again = {key: given[key] for key in _AGAIN if key in given}
    anew = {key: plain(given[key]) for key in _ANEW if key in given}
    if resume is None:
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        folder = given.pop("out") or Path("assay-results") / f"{name}-{stamp}"
        asked = {key: plain(value) for key, value in given.items() if key not in _OWN}
        return Progress(folder, command, asked), asked | again
    refuse_more(context)
    progress = Progress.resume(resume, command)
    try:
        os.chdir(progress.cwd)
    except OSError as error:
        from assay.results.files import explain

        raise explain(error, progress.cwd) from error
    _require_anew(progress.asked, anew)
    return progress, progress.asked | again | anew


def _require_anew(asked: Json, anew: Json) -> None:
    """Refuses where what was given for programs and leave when the run began is not given now."""
    from assay.error import BAD_JOB, AssayError

    for key, value in anew.items():
        if asked.get(key) and asked[key] != value:
            flag = {"program": "--wtperf"}.get(key, f"--{key.replace('_', '-')}")
            words = flag if asked[key] is True else f"{flag} {asked[key]}"
            message = (
                f"this run was begun with {words}, and a file in a result folder names no programs and gives no leave"
            )
            raise AssayError(message, hint=f"if that is meant, say it again: {words}", code=BAD_JOB)
    for text in asked.get("pg_set") or ():
        if _RUNS.search(str(text).partition("=")[0]):
            message = f"the result folder sets {str(text).partition('=')[0]}, which has the server run a program"
            raise AssayError(message, hint="begin a new run with that setting on the command line", code=BAD_JOB)


def refuse_more(context: typer.Context) -> None:
    """Refuses what would change a run that goes on."""
    from assay.error import BAD_JOB, AssayError

    sources = {key: context.get_parameter_source(key) for key in context.params}
    typed = [key for key, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
    more = [key for key in typed if key not in ("resume", *_AGAIN, *_ANEW)]
    if more:
        flag = more[0].replace("_", "-")
        message = f"a run goes on as it was begun, and --{flag} would change it"
        raise AssayError(message, hint=f"leave --{flag} out, or begin a new run", code=BAD_JOB)


def plain(value: Any) -> Any:
    """A flag's value as a document has it."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value
