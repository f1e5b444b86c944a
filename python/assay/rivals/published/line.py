"""Runs a program that has a command line of its own: a file that we made, one process, what it printed."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from assay.error import FAILED, AssayError
from assay.rivals.published.build import required
from assay.rivals.published.drive import ended_badly, require_room
from assay.rivals.published.printed import READERS
from assay.rivals.published.recipe import CommandLine, Recipe, Structure
from assay.rivals.published.window import PrintedWindow, counted, watch
from assay.untyped import Json

_GIB = 1 << 30
_MIB = 1 << 20
# What it may hold beside what it adds in its window: inner pages, and pages that a split has left half full.
_BESIDE = 1.25
# Slower than this nothing loads that is to be measured.
_LOADED_BYTES_PER_S = 4 << 20
_AT_LEAST_S = 120.0
# Seconds that it is asked for beyond its window: the first line stands for none, the last may not be printed.
_MORE_S = 2


@dataclass(frozen=True)
class LineWork:
    """What is asked of it: `units` are warehouses or rows; the pool is a share of the data."""

    structure: Structure
    workload: str
    units: int
    threads: int
    tasks: int
    pool_share: float
    seconds: float
    warmup_s: float

    @property
    def line(self) -> CommandLine:
        """How it is typed."""
        assert self.structure.command is not None  # noqa: S101  Only such structures are asked this way.
        return self.structure.command

    @property
    def threads_given(self) -> int:
        """Threads of theirs."""
        return min(self.threads * self.line.threads_each, self.line.threads_at_most)

    @property
    def tasks_given(self) -> int:
        """Tasks of each thread of theirs; programs without tasks take no heed of it."""
        return self.line.tasks or self.tasks

    @property
    def before(self) -> int:
        """Lines before the window."""
        return math.ceil(self.warmup_s) + 1

    @property
    def wanted(self) -> int:
        """Lines of the window."""
        return max(1, math.ceil(self.seconds))

    @property
    def runs_s(self) -> int:
        """Seconds that the program is asked to run."""
        return self.before + self.wanted + _MORE_S - 1

    @property
    def data_bytes(self) -> int:
        """Loaded."""
        return self.units * self.line.unit_bytes

    @property
    def file_bytes(self) -> int:
        """What it may have at the end, in whole GiB."""
        most = self.data_bytes * _BESIDE + self.runs_s * self.line.grown_bytes_per_s
        return math.ceil(most / _GIB) * _GIB

    @property
    def pool_bytes(self) -> int:
        """A share of what it keeps itself; where all shall lie in memory, what it may have at the end."""
        if self.pool_share >= 1:
            return self.file_bytes
        return max(4 * _MIB, int(self.data_bytes * self.pool_share) // _MIB * _MIB)


def prepare(recipe: Recipe, work: LineWork, folder: Path) -> Path:
    """Makes the file that it writes to, in a folder of ours; one that is there is used again.

    It is written where the pool is smaller than the data: a drive answers otherwise for blocks that nobody wrote.

    Raises:
        AssayError: where the file system has not enough.
    """
    file, wanted = folder / f"{recipe.name}-{work.structure.name}-file", work.file_bytes
    if file.exists():
        return file
    hint = "ask for less data, a shorter window, or another folder: --warehouses, --keys, --duration, --on"
    require_room(wanted, f"a file of {recipe.name}'s", folder, hint)
    try:
        with file.open("xb") as made:
            made.truncate(wanted)
            if work.pool_share < 1:
                _write(made, wanted)
    except BaseException:
        file.unlink(missing_ok=True)
        raise
    return file


def _write(file: IO[bytes], size: int) -> None:
    # Not zeros: a drive that compresses, or a file system that makes holes of them, would keep nothing.
    block = os.urandom(_MIB)
    for _ in range(size // _MIB):
        file.write(block)
    file.flush()
    os.fsync(file.fileno())


def run(
    recipe: Recipe,
    work: LineWork,
    folder: Path,
    edge: Callable[[bool], None] = lambda _: None,
    where: Path | None = None,
) -> tuple[PrintedWindow, Json]:
    """A load and a window of it in a folder of ours; what it printed in the window, and of which build it is.

    Raises:
        AssayError: where it was not built, has no room, or does not come to an end that can be used.
    """
    about = required(recipe.name, where)
    file = prepare(recipe, work, folder)
    program = Path(about["path"]).parent / work.line.program
    with (
        tempfile.TemporaryDirectory(prefix=f"{recipe.name}-", dir=folder) as beside,
        tempfile.TemporaryFile() as errors,
    ):
        words, variables = told(recipe, work, file, Path(beside))
        # What it leaves beside its file, logs of its own for one, goes with the folder that it runs in.
        with _started([str(program), *words], variables, Path(beside), errors) as process:
            window = _followed(process, recipe, work, edge)
        _require(recipe.name, process.returncode, window, work, errors)
    return window, about


def told(recipe: Recipe, work: LineWork, file: Path, beside: Path) -> tuple[list[str], dict[str, str]]:
    """Words and variables of its command line."""
    put: dict[str, object] = {
        "file": file,
        "folder": beside,
        "threads": work.threads_given,
        "tasks": work.tasks_given,
        "units": work.units,
        "seconds": work.runs_s,
        "pool_mib": work.pool_bytes // _MIB,
        "pool_gib": f"{work.pool_bytes / _GIB:.6f}",
        "file_gib": work.file_bytes // _GIB,
    }
    words = [word.format(**put) for word in work.line.words]
    variables = recipe.environment | {name: value.format(**put) for name, value in work.line.environment.items()}
    return words, variables


@contextlib.contextmanager
def _started(
    command: list[str], variables: dict[str, str], folder: Path, errors: IO[bytes]
) -> Iterator[subprocess.Popen[str]]:
    """The process in a group of its own, which is ended whatever happens."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        yield process
    finally:
        _end(process)
        if process.stdout is not None:
            process.stdout.close()


def _end(process: subprocess.Popen[str]) -> None:
    # The group is ours as long as its first process was not waited for.
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _followed(
    process: subprocess.Popen[str], recipe: Recipe, work: LineWork, edge: Callable[[bool], None]
) -> PrintedWindow:
    at_most = _AT_LEAST_S + 10 * work.runs_s + work.data_bytes / _LOADED_BYTES_PER_S
    late = threading.Event()

    def give_up() -> None:
        late.set()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

    timer = threading.Timer(at_most, give_up)
    timer.daemon = True
    timer.start()
    try:
        lines = process.stdout or ()
        reader = READERS[work.line.prints]
        window = watch(lines, reader, work.before, work.wanted, lambda: counted(process.pid), edge)
        # Not waited for in a way that takes its number away: the timer may still be about to end it.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    finally:
        timer.cancel()
        timer.join()
    if late.is_set():
        hint = "ask for less data, or fewer threads"
        raise AssayError(f"{recipe.name} did not end within {at_most:.0f} s", hint=hint, code=FAILED)
    process.wait()
    return window


def _require(name: str, code: int, window: PrintedWindow, work: LineWork, errors: IO[bytes]) -> None:
    """Refuses a run that did not end well, or did not print its window."""
    errors.seek(0)
    text = errors.read().decode(errors="replace").strip()
    hint = "run it once more, with less data or fewer threads"
    if code != 0:
        raise ended_badly(name, code, text, hint)
    if window.first is None or window.last is None:
        seen = f"{len(window.seconds)} of {work.wanted} seconds of its window, and {window.damaged} damaged lines"
        last = (text.splitlines() or ["it said nothing"])[-1].strip()
        raise AssayError(f"{name} printed {seen}: {last}", hint=hint, code=FAILED)
