"""What a command line gives and no file does: programs that are run, leave to work on a server, how it is reached."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.dbms import secret
from assay.error import BAD_JOB, AssayError
from assay.untyped import Json

# Settings of PostgreSQL that name programs or libraries, files and folders, or where it listens and whom it believes.
_REACHES = re.compile(
    r"_command$|_librar(?:y|ies)$|_library_path$|_program$|_?file$|_filename$|_director(?:y|ies)$|^include|^ssl|^krb_"
    r"|^(?:listen_addresses|port|primary_conninfo|role|session_authorization)$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Grant:
    """What was typed. A connection string may have a password, and stands in no file at all."""

    pg_bin: Path | None = None
    connect: str = ""
    external: bool = False
    pg_set: tuple[str, ...] = ()
    program: Path | None = None
    workloads: tuple[Path, ...] = ()
    """Files of workloads of wtperf, resolved."""
    wt_set: tuple[str, ...] = ()
    """Options of wtperf."""
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
        """Refuses a job that was begun with what is not given now, or that has a server reach beyond its data."""
        for name in (*told, *self.told()):
            if told.get(name) != self.told().get(name):
                raise self._again(name, told.get(name))
        for text in settings:
            name = text.partition("=")[0].strip()
            if _REACHES.search(name) and text not in self.pg_set:
                flag = f"assay dbms {self.command} --pg-set {name}=..."
                hint = f"begin a new run with that setting on the command line: {flag}"
                message = f"a file sets {name}, by which a server runs programs or reaches beyond its folder"
                raise AssayError(message, hint=hint, code=BAD_JOB)

    def require_typed(self, workload: str, settings: Sequence[str]) -> None:
        """Refuses what no command line names: a file of a workload, and configurations, by which WiredTiger loads
        libraries and writes elsewhere."""
        hint = f"begin a run with it on the command line: assay dbms {self.command}"
        if Path(workload).is_file() and Path(workload).resolve() not in self.workloads:
            raise AssayError(f"a study names {workload}, a workload of its own", hint=f"{hint} FILE", code=BAD_JOB)
        for text in settings:
            if "_config" in text and text not in self.wt_set:
                message = f"a file sets `{text}`, and by configurations WiredTiger loads libraries and writes elsewhere"
                raise AssayError(message, hint=f"{hint} --set OPTION=VALUE", code=BAD_JOB)

    def _again(self, name: str, value: object) -> AssayError:
        flag = "--wtperf" if name == "program" else f"--{name.replace('_', '-')}"
        if value is None:
            message = f"a run goes on as it was begun, and {flag} would change it"
            return AssayError(message, hint=f"leave {flag} out, or begin a new run", code=BAD_JOB)
        words = {"connect": f"{flag} STRING", "external": flag}.get(name, f"{flag} {value}")
        message = f"this run was begun with {words}, and a file in a result folder names no programs and gives no leave"
        hint = f"if that is meant, say it again: assay dbms {self.command} --resume DIR {words}"
        return AssayError(message, hint=hint, code=BAD_JOB)
