"""`--resume` of the commands that run databases."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

Resume = Annotated[
    Path | None, typer.Option("--resume", metavar="DIR", help="Go on with the run that this result folder holds.")
]
# What a file does not hold, or only that it was given: a connection string may have a password, and no file names
# programs or gives leave.
_AGAIN = ("connect", "json", "pg_bin", "program", "external")


def refuse_more(context: typer.Context) -> None:
    """Refuses what would change a run that goes on."""
    from assay.error import BAD_JOB, AssayError

    sources = {key: context.get_parameter_source(key) for key in context.params}
    typed = [key for key, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
    more = [key for key in typed if key not in ("resume", *_AGAIN)]
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
