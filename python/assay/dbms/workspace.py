"""A folder of our own on a target: removed at the end, and found again when we were killed."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from assay.error import NOT_POSSIBLE, AssayError

PREFIX = "assay-dbms-"
_MARKER = ".assay-dbms"
_WORDS = "Made by assay dbms; it may be removed when no process holds the lock on this file.\n"


class WorkspaceError(AssayError):
    """The folder cannot be made."""


class Workspace:
    """A folder in a target, locked as long as it is used."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.path = target
        self._lock: IO[str] | None = None

    def __enter__(self) -> Self:
        remove_leftovers(self.target)
        try:
            self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=self.target))
            self.path.chmod(0o755)
            self._lock = (self.path / _MARKER).open("w")
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            self._lock.write(_WORDS)
            self._lock.flush()
        except OSError as error:
            message = f"nothing can be written to {self.target}: {error.strerror}"
            raise WorkspaceError(message, hint="name a folder that you may write to", code=NOT_POSSIBLE) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            self._lock.close()

    def folder(self, name: str) -> Path:
        """A new folder inside."""
        path = self.path / name
        path.mkdir()
        return path


def remove_leftovers(target: Path) -> list[Path]:
    """Removes folders of killed runs: those that have our marker and that nobody holds."""
    removed = []
    for path in sorted(target.glob(f"{PREFIX}*")):
        if path.is_dir() and not path.is_symlink() and _abandoned(path / _MARKER):
            shutil.rmtree(path, ignore_errors=True)
            removed.append(path)
    return removed


def _abandoned(marker: Path) -> bool:
    try:
        handle = os.open(marker, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:
        return False  # Not ours: without a marker nothing is removed.
    try:
        if os.pread(handle, len(_WORDS), 0).decode(errors="replace") != _WORDS:
            return False
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True
