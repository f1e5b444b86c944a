"""What a command line gives and no file does: programs that are run, leave to work on a server, how it is reached."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.dbms import secret
from assay.error import BAD_JOB, AssayError

Json = dict[str, Any]
# Settings of PostgreSQL that name programs or libraries.
_RUNS = re.compile(r"_command$|_librar(?:y|ies)$|_library_path$|_program$", re.IGNORECASE)


@dataclass(frozen=True)
class Grant:
    """What was typed. A connection string may have a password, and stands in no file at all."""

    pg_bin: Path | None = None
    connect: str = ""
    external: bool = False
    pg_set: tuple[str, ...] = ()
    program: Path | None = None
    command: str = "tpcc"
    """Which one gives it, for people."""

    def __post_init__(self) -> None:
        """Refuses a connection string with a password in it."""
        secret.refuse_in(self.connect)

    def told(self) -> Json:
        """That it was given, as a job says it."""
        found: Json = {"pg_bin": str(self.pg_bin or ""), "program": str(self.program or "")}
        found |= {"connect": bool(self.connect), "external": self.external}
        return {name: value for name, value in found.items() if value}

    def require(self, told: Mapping[str, Any], settings: Sequence[str] = ()) -> None:
        """Refuses a job that was begun with what is not given now, or that has a server run programs."""
        for name in (*told, *self.told()):
            if told.get(name) != self.told().get(name):
                raise self._again(name, told.get(name))
        for text in settings:
            name = text.partition("=")[0]
            if _RUNS.search(name) and text not in self.pg_set:
                flag = f"assay dbms {self.command} --pg-set {name}=..."
                hint = f"begin a new run with that setting on the command line: {flag}"
                raise AssayError(f"a file sets {name}, which has the server run a program", hint=hint, code=BAD_JOB)

    def _again(self, name: str, value: object) -> AssayError:
        flag = "--wtperf" if name == "program" else f"--{name.replace('_', '-')}"
        if value is None:
            message = f"a run goes on as it was begun, and {flag} would change it"
            return AssayError(message, hint=f"leave {flag} out, or begin a new run", code=BAD_JOB)
        words = {"connect": f"{flag} STRING", "external": flag}.get(name, f"{flag} {value}")
        message = f"this run was begun with {words}, and a file in a result folder names no programs and gives no leave"
        hint = f"if that is meant, say it again: assay dbms {self.command} --resume DIR {words}"
        return AssayError(message, hint=hint, code=BAD_JOB)
