"""The measuring program where it is not: sent to a host, kept there under its own hash, and used by workers there."""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from assay.error import FAILED, NOT_POSSIBLE
from assay.fleet import shelf
from assay.fleet.error import FleetError

NAME = "assayer"
MOST_BYTES = 1 << 30
_BLOCK = 1 << 20
_SHA256_DIGITS = 64
_ANSWERS_S = 30


def here() -> list[str]:
    """SHA-256 of the programs that were sent to this user."""
    return sorted(path.name for path in shelf.folder("programs").iterdir() if (path / NAME).is_file())


def path(digest: str) -> Path:
    """Where the program with this hash lies, or would lie."""
    if len(digest) != _SHA256_DIGITS or not set(digest) <= set("0123456789abcdef"):
        raise FleetError(f"{digest[:80]!r} is no SHA-256", "this is a defect of Assay: report it")
    return shelf.folder("programs") / digest / NAME


def receive(stream: IO[bytes], size: int, digest: str) -> Path:
    """Takes so many bytes and keeps them as that program, where they are that program and it answers here.

    Raises:
        FleetError: where less arrives, or something else, or it does not run on this host.
    """
    found = path(digest)
    if not 0 < size <= MOST_BYTES:
        raise FleetError(f"a program of {size} bytes", f"{MOST_BYTES} are the most that is taken")
    with _draft(found) as (draft, opened):
        summed = hashlib.sha256()
        while size:
            block = stream.read(min(size, _BLOCK))
            if not block:
                raise FleetError("the program did not arrive whole", "try again", FAILED)
            opened.write(block)
            summed.update(block)
            size -= len(block)
        opened.flush()
        os.fsync(opened.fileno())
        opened.close()
        if summed.hexdigest() != digest:
            raise FleetError("what arrived is another program than was announced", "try again", FAILED)
        _answers(draft)
        draft.replace(found)
    return found


@contextlib.contextmanager
def _draft(found: Path) -> Iterator[tuple[Path, IO[bytes]]]:
    """A file beside it, which is gone afterwards unless it was moved."""
    found.parent.mkdir(mode=0o700, exist_ok=True)
    draft = found.with_suffix(f".{os.getpid()}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o700)
    try:
        with os.fdopen(handle, "wb") as opened:
            yield draft, opened
    finally:
        draft.unlink(missing_ok=True)


def _answers(program: Path) -> None:
    """Refuses what does not run here: another architecture, another C library."""
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False, timeout=_ANSWERS_S)
        problem = done.stderr.strip() if done.returncode else ""
        answered = not done.returncode
    except (OSError, subprocess.TimeoutExpired) as error:
        answered, problem = False, str(error)
    if not answered:
        message = f"the program that was sent does not run on this host: {problem or 'it ended at once'}"
        raise FleetError(message, "send the static one of a release: ASSAYER=FILE names it", NOT_POSSIBLE)
