"""Where PostgreSQL's programs are."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from assay.dbms.postgres.cache import cached
from assay.dbms.postgres.error import PostgresError
from assay.error import BAD_JOB, NOT_POSSIBLE

OLDEST = 14
NEEDED = ("postgres", "initdb")
_VERSION = re.compile(r"\(PostgreSQL\) (\d+)(?:\.(\d+))?")
_INSTALL = "install it: `assay dbms install postgres`, or name its programs: --pg-bin DIR"


@dataclass(frozen=True)
class Binaries:
    """The programs of one installation."""

    folder: Path
    major: int
    version: str
    source: str
    """Where it comes from: `named`, `cache`, `distribution` or `path`."""

    def program(self, name: str) -> str:
        """Path of a program."""
        return str(self.folder / name)


def find(named: Path | None = None) -> Binaries:
    """The installation that was named, or the newest one that is found."""
    if named is not None:
        return _named(named)
    found = list(_installed())
    if not found:
        raise PostgresError("PostgreSQL was not found on this machine", hint=_INSTALL, code=NOT_POSSIBLE)
    return max(found, key=lambda one: (one.major, one.source == "cache"))


def find_distribution() -> Binaries | None:
    """The newest installation of the distribution's."""
    found = [one for one in _installed() if one.source == "distribution"]
    return max(found, key=lambda one: one.major) if found else None


def _named(folder: Path) -> Binaries:
    folder = folder.expanduser().absolute()
    folder = folder / "bin" if (folder / "bin" / "postgres").exists() else folder
    missing = [name for name in NEEDED if not (folder / name).is_file()]
    if missing:
        message = f"{folder} has no {' and no '.join(missing)}"
        raise PostgresError(message, hint="name the folder that holds postgres and initdb", code=BAD_JOB)
    found = _binaries(folder, "named")
    if found is None:
        message = f"{folder / 'postgres'} does not run, or is older than version {OLDEST}"
        raise PostgresError(message, hint="call it with --version by hand, and see what it says", code=BAD_JOB)
    return found


def _installed() -> Iterator[Binaries]:
    candidates = [(folder, "cache") for folder in cached()]
    candidates += [(folder, "distribution") for folder in sorted(Path("/usr/lib/postgresql").glob("*/bin"))]
    on_path = shutil.which("postgres")
    if on_path is not None:
        candidates.append((Path(on_path).resolve().parent, "path"))
    for folder, source in candidates:
        if all((folder / name).is_file() for name in NEEDED):
            found = _binaries(folder, source)
            if found is not None:
                yield found


def _binaries(folder: Path, source: str) -> Binaries | None:
    try:
        done = subprocess.run([folder / "postgres", "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return None
    match = _VERSION.search(done.stdout)
    if match is None or int(match[1]) < OLDEST:
        return None
    version = match[1] if match[2] is None else f"{match[1]}.{match[2]}"
    return Binaries(folder, int(match[1]), version, source)
