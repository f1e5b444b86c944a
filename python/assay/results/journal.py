"""What happened to each cell, one line of JSON per change; the only thing that `--resume` believes.

Every line is on disk before the run goes on. A run that is killed leaves a valid prefix and at most one line that
was cut off; that line is dropped, and its cell is run again.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from assay.error import FAILED
from assay.results.files import ResultError, explain
from assay.untyped import Json

STATES = ("started", "finished", "refused", "failed", "interrupted")


class CellJournal:
    """The journal of a result folder, open for appending by one run at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise explain(error, path) from error
        try:
            self._lock()
            self.entries = self._recover()
        except BaseException:
            os.close(self._descriptor)
            raise

    def _lock(self) -> None:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            hint = "wait for it, or choose another folder with --out"
            raise ResultError(f"another run is writing to {self.path.parent}", hint=hint, code=FAILED) from error

    def _recover(self) -> list[Json]:
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            os.ftruncate(self._descriptor, len(whole))
            os.fsync(self._descriptor)
        return list(_lines(whole, self.path))

    def add(self, cell: str, state: str, *, reason: str = "", fix: str = "", exit_code: int = 0) -> None:
        """Notes a change of a cell's state, durably."""
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        entry = {"cell": cell, "state": state, "at": at, "reason": reason, "fix": fix, "exit_code": exit_code}
        line = (json.dumps(entry, ensure_ascii=False) + "\n").encode()
        try:
            _write_all(self._descriptor, line)
            os.fsync(self._descriptor)
        except OSError as error:
            raise explain(error, self.path) from error
        self.entries.append(entry)

    def close(self) -> None:
        """Lets others write."""
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _write_all(descriptor: int, line: bytes) -> None:
    """Writes a whole line. A part of one, left by a full disk, is taken back, so that later lines stay readable."""
    length = os.fstat(descriptor).st_size
    try:
        written = os.write(descriptor, line)
        if written < len(line):
            os.write(descriptor, line[written:])
    except OSError:
        os.ftruncate(descriptor, length)
        raise


def _lines(content: bytes, path: Path) -> Iterator[Json]:
    for number, line in enumerate(content.splitlines(), 1):
        try:
            entry = json.loads(line)
            known = entry["state"] in STATES and isinstance(entry["cell"], str)
        except (ValueError, KeyError, TypeError):
            known = False
        if not known:
            message = f"{path} line {number} is damaged"
            raise ResultError(message, hint="start anew in another folder", code=FAILED)
        yield entry


def read(path: Path) -> list[Json]:
    """The complete lines of a journal that is only read."""
    content = path.read_bytes() if path.exists() else b""
    return list(_lines(content[: content.rfind(b"\n") + 1], path))


def last_states(entries: list[Json]) -> dict[str, Json]:
    """The last entry of every cell."""
    return {entry["cell"]: entry for entry in entries}
