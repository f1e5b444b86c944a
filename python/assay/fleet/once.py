"""A cell that writes is begun once: its host keeps a note of every start, and a second one of the same is refused.

A scheduler that loses sight of a worker may send its task again; a person who says `--resume` begins another attempt.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from assay.document.identifier import Identifier
from assay.error import FAILED
from assay.fleet import shelf
from assay.fleet.error import FleetError
from assay.untyped import Json


@dataclass(frozen=True)
class Start:
    """One start of a cell: which run, on which host, at which attempt."""

    run: str
    host: str
    cell: str
    attempt: int

    @classmethod
    def of(cls, document: Json) -> Start:
        """From the arguments of a task; names become names of files."""
        run, host, cell = (Identifier.parse(document[key], key) for key in ("run", "host", "cell"))
        return cls(run, host, cell, int(document["attempt"]))

    @property
    def key(self) -> str:
        """As tasks of Dask are called."""
        return f"{self.run}/{self.host}/{self.cell}" + (f"~{self.attempt}" if self.attempt > 1 else "")

    def file(self, end: str) -> Path:
        """A file of this cell in this user's own state folder."""
        return shelf.folder() / f"{self.run}.{self.host}.{self.cell}.{end}"


@contextlib.contextmanager
def begun(start: Start) -> Iterator[None]:
    """Notes the start, durably, before anything is written; nobody else has the cell meanwhile.

    Raises:
        FleetError: where it was begun already, or is under way.
    """
    path = start.file("lease")
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        _lock(handle, start)
        before = _read(handle)
        if earlier := next((one for one in before if one["attempt"] == start.attempt), None):
            message = (
                f"{start.cell} writes, and began on {start.host} at {earlier['at']} already: it is not begun twice"
            )
            hint = "look at what is there; `assay fleet run --resume DIR` begins another attempt"
            raise FleetError(message, hint, FAILED)
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        os.write(handle, (json.dumps({"attempt": start.attempt, "at": at, "pid": os.getpid()}) + "\n").encode())
        os.fsync(handle)
        yield
    finally:
        os.close(handle)


def keep(start: Start, found: Json) -> None:
    """What a cell left stays on its host until whoever ordered it has it."""
    path = start.file("json")
    draft = path.with_suffix(".new")
    draft.write_text(json.dumps(found), encoding="utf-8")
    draft.replace(path)


def kept(start: Start) -> Json | None:
    """What a cell left, where nobody has taken it yet."""
    try:
        found: Json = json.loads(start.file("json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found


def forget(start: Start) -> None:
    """The run is over, and whoever ordered it has all."""
    for end in ("json", "lease"):
        start.file(end).unlink(missing_ok=True)


def _lock(handle: int, start: Start) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        message = f"{start.cell} is under way on {start.host}: it is not begun twice"
        raise FleetError(message, "wait until that has ended", FAILED) from error


def _read(handle: int) -> list[Json]:
    text = os.pread(handle, 1 << 20, 0).decode(errors="replace")
    os.lseek(handle, 0, os.SEEK_END)
    return [json.loads(line) for line in text.splitlines() if line.endswith("}")]
