"""wtperf: the user's own, or one built once from WiredTiger's source package and kept.

WiredTiger is under the GPL: it stays a program of its own, nothing of it is linked or shipped.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.error import BAD_JOB, FAILED, NOT_POSSIBLE, AssayError

VERSION = "11.3.1"
HEADER = "wiredtiger.h"
_OPTIONS = ("-DCMAKE_BUILD_TYPE=Release", "-DENABLE_PYTHON=0", "-DENABLE_STATIC=0", "-DENABLE_STRICT=0")


class BuildError(AssayError):
    """There is no wtperf, or it could not be built."""


@dataclass(frozen=True)
class Program:
    """wtperf, and the folder of its workloads; none where only the program is known."""

    path: Path
    runners: Path | None
    version: str


def cache() -> Path:
    """Where a built one is kept."""
    base = os.environ.get("XDG_CACHE_HOME") or ""
    home = Path(base) if base.startswith("/") else Path.home() / ".cache"
    return home / "assay" / "wiredtiger" / VERSION


def find(named: Path | None = None) -> Program:
    """The program that was named, or the one that was built.

    Raises:
        BuildError: where there is none.
    """
    if named is not None:
        path = named.expanduser().resolve()
        path = path / "wtperf" if path.is_dir() else path
        if not os.access(path, os.X_OK):
            raise BuildError(f"{named} is no program", hint="name the program wtperf of a build", code=BAD_JOB)
        return Program(path, _runners(path), "of the user")
    built = cache()
    if not (built / "wtperf").is_file():
        hint = "build it: `assay dbms install wiredtiger`, or name one: --wtperf PATH"
        raise BuildError("wtperf was not found on this machine", hint=hint, code=NOT_POSSIBLE)
    return Program(built / "wtperf", built / "runners", VERSION)


def _runners(program: Path) -> Path | None:
    """The workloads that lie with a program: in its own tree, or in the source beside its build."""
    for folder in list(program.parents)[:5]:
        for found in (folder / "runners", *folder.glob("*/bench/wtperf/runners"), *folder.glob("bench/wtperf/runners")):
            if found.is_dir():
                return found
    return None


def install(listen: Callable[[str], None] = lambda _: None, source: Path | None = None) -> Program:
    """Builds it, some minutes of two CPUs, and keeps program, library and workloads.

    `source` is a source package that is there already; without it one is fetched by pip.
    """
    goal = cache()
    if (goal / "wtperf").is_file() and (goal / HEADER).is_file():
        return find()
    for tool in ("cmake", "ninja", "cc"):
        if shutil.which(tool) is None:
            raise BuildError(f"{tool} is not installed", hint="install cmake, ninja-build and gcc", code=NOT_POSSIBLE)
    with tempfile.TemporaryDirectory(prefix="assay-wiredtiger-") as folder:
        work = Path(folder)
        package = source or _fetch(work, listen)
        with tarfile.open(package) as archive:
            archive.extractall(work / "source", filter="data")
        root = next((work / "source").iterdir())
        listen("building wtperf; this takes some minutes")
        _call(["cmake", "-G", "Ninja", "-S", str(root), "-B", str(work / "build"), *_OPTIONS])
        _call(["ninja", "-C", str(work / "build"), "wtperf"])
        _keep(root, work / "build", goal)
    return find()


def _fetch(work: Path, listen: Callable[[str], None]) -> Path:
    listen(f"fetching the source of WiredTiger {VERSION}")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", ":all:", "-d", str(work)]
    _call([*command, f"wiredtiger=={VERSION}"])
    return next(work.glob("wiredtiger-*.tar.gz"))


def _call(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        said = ([*done.stderr.strip().splitlines(), *done.stdout.strip().splitlines()] or ["it said nothing"])[-1]
        message = f"`{' '.join(command[:4])} ...` ended with exit code {done.returncode}: {said}"
        raise BuildError(message, hint="run it by hand and read its words", code=FAILED)


def _keep(root: Path, build: Path, goal: Path) -> None:
    """Program, library, its header and workloads, whole or not at all."""
    goal.parent.mkdir(parents=True, exist_ok=True)
    half = Path(tempfile.mkdtemp(prefix=".half-", dir=goal.parent))
    try:
        shutil.copy2(build / "bench" / "wtperf" / "wtperf", half / "wtperf")
        for library in build.glob("libwiredtiger.so*"):
            shutil.copy2(library, half / library.name, follow_symlinks=True)
        shutil.copy2(build / "include" / HEADER, half / HEADER)
        shutil.copytree(root / "bench" / "wtperf" / "runners", half / "runners")
        if goal.is_dir():
            shutil.rmtree(goal)  # Of an older build, without the header.
        half.rename(goal)
    finally:
        shutil.rmtree(half, ignore_errors=True)
