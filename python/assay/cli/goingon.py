"""`--resume` of the commands that run databases: flags that are kept, and taken up again."""

from __future__ import annotations

import os
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
# A connection string has a password, and stays out of files: it is given again.
_AGAIN = ("connect", "json")
_OWN = ("resume", "out", *_AGAIN)


def progress_of(context: typer.Context, flags: Json, command: str, name: str) -> tuple[Progress, Json]:
    """The progress of a run, new or taken up again, and its flags; `name` begins the name of a new folder."""
    from assay.dbms.progress import Progress

    given = {key: value for key, value in flags.items() if key in context.params}
    resume = given.pop("resume")
    again = {key: given[key] for key in _AGAIN if key in given}
    if resume is None:
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        folder = given.pop("out") or Path("assay-results") / f"{name}-{stamp}"
        asked = {key: _plain(value) for key, value in given.items() if key not in _OWN}
        return Progress(folder, command, asked), asked | again
    _refuse_more(context)
    progress = Progress.resume(resume, command)
    try:
        os.chdir(progress.cwd)
    except OSError as error:
        from assay.study.files import explain

        raise explain(error, progress.cwd) from error
    return progress, progress.asked | again


def _refuse_more(context: typer.Context) -> None:
    from assay.error import BAD_JOB, AssayError

    sources = {key: context.get_parameter_source(key) for key in context.params}
    typed = [key for key, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
    more = [key for key in typed if key not in ("resume", *_AGAIN)]
    if more:
        flag = more[0].replace("_", "-")
        message = f"a run goes on as it was begun, and --{flag} would change it"
        raise AssayError(message, hint=f"leave --{flag} out, or begin a new run", code=BAD_JOB)


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value
