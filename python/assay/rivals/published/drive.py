"""Runs a published program: one load and one window, and what came of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from assay.error import FAILED, NOT_POSSIBLE, AssayError
from assay.rivals.published.build import required
from assay.rivals.published.recipe import Recipe
from assay.untyped import Json

# Bytes of a pool for each entry, nodes that are half full and their copies included, and for what lies beside them.
ENTRY_BYTES = 128
BESIDE_BYTES = 512 << 20
# What no program here adds more of, in a second of one thread.
ADDED_PER_S = 4_000_000
# Of a file system: what a pool may take.
SHARE = 0.6


@dataclass(frozen=True)
class DriverWork:
    """What is asked of it."""

    structure: str
    workload: str
    keys: int
    threads: int
    seconds: float
    warmup_s: float
    seed: int = 1
    scan_length: int = 100
    checked: int = 2000


def run(recipe: Recipe, work: DriverWork, on: Path, where: Path | None = None) -> Json:
    """Runs it with its data in a folder; what it says, and of which build it is.

    Raises:
        AssayError: where it was not built, has no room, or does not come to an end that can be used.
    """
    about = required(recipe.name, where)
    file = on / f"{recipe.name}-pool"
    try:
        said = _asked(recipe, [str(about["path"]), *flags(work, file, room(work, on))], work)
    finally:
        file.unlink(missing_ok=True)
    return said | {"program": recipe.name, "commits": about["commits"], "compiler": about["compiler"]}


def room(work: DriverWork, on: Path) -> int:
    """Bytes of the pool: it is made whole before anything is measured.

    Raises:
        AssayError: where the file system has not enough.
    """
    added = ADDED_PER_S * work.threads * work.seconds if work.workload == "insert" else 0
    wanted = BESIDE_BYTES + int((work.keys + added) * ENTRY_BYTES)
    require_room(
        wanted, "a pool", on, "ask for fewer keys, a shorter window, or another folder: --keys, --duration, --on"
    )
    return wanted


def require_room(wanted: int, what: str, on: Path, hint: str) -> None:
    """Refuses what would take more than its share of what is free.

    Raises:
        AssayError: where the file system has not enough.
    """
    free = shutil.disk_usage(on).free
    if wanted > free * SHARE:
        message = f"{what} of {wanted >> 20} MiB was wanted, and {free >> 20} MiB are free at {on}"
        raise AssayError(message, hint=hint, code=NOT_POSSIBLE)


def ended_badly(name: str, code: int, said: str, hint: str) -> AssayError:
    """Of a program that did not end well: how it ended, and the last that it said."""
    last = (said.strip().splitlines() or ["it said nothing"])[-1].strip()
    ended = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
    return AssayError(f"{name} {ended}: {last}", hint=hint, code=FAILED)


def flags(work: DriverWork, file: Path, pool_bytes: int) -> list[str]:
    """As the harness reads them."""
    given: dict[str, object] = {
        "structure": work.structure,
        "workload": work.workload,
        "file": file,
        "pool-bytes": pool_bytes,
        "keys": work.keys,
        "threads": work.threads,
        "seconds": work.seconds,
        "warmup": work.warmup_s,
        "seed": work.seed,
        "scan-length": work.scan_length,
        "checked": work.checked,
    }
    return [word for name, value in given.items() for word in (f"--{name}", str(value))]


def _asked(recipe: Recipe, command: list[str], work: DriverWork) -> Json:
    # A load of a million keys takes seconds, a program that hangs takes for ever.
    at_most = 120 + 20 * (work.seconds + work.warmup_s) + work.keys / 10_000
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=at_most,
            env={**os.environ, **recipe.environment},
        )
    except subprocess.TimeoutExpired as error:
        hint = "ask for fewer keys or threads"
        raise AssayError(f"{recipe.name} did not end within {at_most:.0f} s", hint=hint, code=FAILED) from error
    return answer(recipe.name, done.returncode, done.stdout, done.stderr)


def answer(name: str, code: int, out: str, errors: str) -> Json:
    """The document that it printed last, among words of its own.

    Raises:
        AssayError: where it printed none.
    """
    documents = [line for line in out.splitlines() if line.startswith("{")]
    if code not in (0, 1) or not documents:
        raise ended_badly(name, code, errors.strip() or out, "run it once more, with fewer keys or threads")
    found: Json = json.loads(documents[-1])
    return found
