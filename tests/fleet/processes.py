"""Commands of fleets as processes, ended by their number."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from assay.untyped import Json

HERE = Path(__file__).parent
_LOOK_S = 0.05
_PATIENCE_S = 120.0


def command(*words: str | Path) -> list[str]:
    """`assay fleet WORDS`; runs do not show first that workers bend nothing, unless that is asked for."""
    more = ["--no-aa"] if words[0] == "run" and "--aa" not in words else []
    return [sys.executable, "-I", "-m", "assay", "fleet", *map(str, words), *more]


def run(*words: str | Path) -> tuple[int, Json]:
    """A run to its end: its exit code, and the document that it printed."""
    done = subprocess.run(command("run", *words, "--json"), capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


@contextlib.contextmanager
def started(*words: str | Path, before: Sequence[str] = ()) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A scheduler or a worker, meanwhile: its process and its address."""
    process = subprocess.Popen([*before, *command(*words)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address, f"{words[0]} did not start"
        yield process, address
    finally:
        # What shifts clocks hands on no signal but its own end.
        process.kill() if before else process.terminate()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


@contextlib.contextmanager
def serving(*words: str | Path, before: Sequence[str] = ()) -> Iterator[str]:
    """A scheduler or a worker, meanwhile; its address."""
    with started(*words, before=before) as (_, address):
        yield address


def worker_of(run: int, name: str) -> int:
    """The process of a local worker: below the run, and called by its name."""
    for path in Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):
            if path.read_text().strip() == name and run in list(above(path.parent)):
                return int(path.parent.name)
    raise AssertionError(f"there is no worker {name}")


def above(process: Path) -> Iterator[int]:
    """Its parent, that one's parent, and so on."""
    while (number := int((process / "stat").read_text().rpartition(")")[2].split()[1])) > 1:
        yield number
        process = Path(f"/proc/{number}")


def until(happened: Callable[[], Any]) -> Any:
    """Waits for something; what it was."""
    end = time.monotonic() + _PATIENCE_S
    while time.monotonic() < end:
        if found := happened():
            return found
        time.sleep(_LOOK_S)
    raise AssertionError("it did not happen")


def states(journal: Path) -> list[tuple[str, str]]:
    """Cells and states of a journal, in their order."""
    if not journal.is_file():
        return []
    lines = journal.read_text().splitlines()
    return [(entry["cell"], entry["state"]) for entry in map(json.loads, lines)]


def can_shift_clocks() -> str:
    """Why clocks of processes cannot be shifted here; empty where they can."""
    if os.geteuid() != 0:
        return "not root"
    words = ["unshare", "--time", "--fork", "--monotonic", "1000", "true"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError as error:
        return str(error)
    return done.stderr.strip()
