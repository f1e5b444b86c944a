"""A temporary folder with room for the guest's drives, which goes away however this process ends."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from assay.error import NOT_POSSIBLE

from assay_lab.error import LabError

_RESERVE_BYTES = 256 << 20
# Waits for the death of who started it, by whatever cause, and removes the folder.
_JANITOR = "import shutil, sys; sys.stdin.buffer.read(); shutil.rmtree(sys.argv[1], ignore_errors=True)"


class Workspace:
    """The folder, as a context."""

    def __init__(self, need_bytes: int) -> None:
        parent = with_room(need_bytes)
        self.folder = Path(tempfile.mkdtemp(prefix="assay-lab-", dir=parent))
        self._janitor = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _JANITOR, str(self.folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Removes it."""
        shutil.rmtree(self.folder, ignore_errors=True)
        if self._janitor.stdin is not None:
            self._janitor.stdin.close()
        self._janitor.wait()


def sparse(path: Path, size: int) -> Path:
    """A file of this size that holds nothing yet; an existing one stays as it is."""
    with path.open("ab") as file:
        file.truncate(size)
    return path


def require_memory(need_bytes: int) -> None:
    """Refuses a guest that would drive this machine out of memory."""
    available = _available_bytes()
    if available is not None and available < need_bytes:
        message = f"the guest needs {need_bytes >> 20} MiB of memory, {available >> 20} MiB are available here"
        raise LabError(message, hint="give it less with --memory, or end other programs", code=NOT_POSSIBLE)


def _available_bytes() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    found = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(found[0]) << 10 if found else None


def with_room(need_bytes: int) -> Path:
    """The folder for temporary files that has this much room and a little more."""
    named = os.environ.get("TMPDIR")
    candidates: Sequence[str] = [named] if named else ["/var/tmp", "/tmp"]  # noqa: S108  Folders inside are private.
    seen = []
    for name in candidates:
        try:
            free = shutil.disk_usage(name).free
        except OSError as error:
            seen.append(f"{name}: {error.strerror}")
            continue
        if free >= need_bytes + _RESERVE_BYTES and os.access(name, os.W_OK):
            return Path(name)
        seen.append(f"{name} has {free >> 20} MiB" + ("" if os.access(name, os.W_OK) else " and cannot be written"))
    message = f"the guest's drives may need {(need_bytes + _RESERVE_BYTES) >> 20} MiB of disk; {'; '.join(seen)}"
    raise LabError(message, hint="make room, or set TMPDIR to a folder that has it", code=NOT_POSSIBLE)
