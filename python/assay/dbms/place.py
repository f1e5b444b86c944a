"""Assay's own folders for databases on targets: made with a mark, found again after a kill, removed at the end."""

from __future__ import annotations

import os
import select
import signal
import tempfile
from dataclasses import dataclass
from pathlib import Path

from assay import own
from assay.binary import Binary
from assay.dbms import segment
from assay.error import BAD_JOB, AssayError
from assay.untyped import Json

_PREFIX = "assay-dbms-"
SOCKETS = "assay-pg-"
"""What names of folders begin with that hold the socket of a server."""
# Seconds that a server may take to end.
_END_S = 10.0


class PlaceError(AssayError):
    """A folder cannot be used."""


@dataclass(frozen=True)
class Place:
    """A folder that Assay made on a target."""

    target: Path
    path: Path

    @classmethod
    def make(cls, target: Path, owner: tuple[int, int] | None = None) -> Place:
        """A new folder on a target, a folder itself; `owner` is who else may have files in it, by number."""
        target = target.expanduser().absolute()
        if not target.is_dir():
            raise PlaceError(f"{target} is no folder", hint="name an existing folder on the device", code=BAD_JOB)
        path = own.make(target, _PREFIX, owner[0] if owner is not None else None)
        # A server's user goes through it to the folders that are its own; what is inside stays shut to others.
        path.chmod(0o711)
        return cls(target, path)

    def remove(self) -> None:
        """Removes it with all that it holds."""
        own.remove(self.path)

    def remove_inside(self, name: str) -> None:
        """Removes a folder inside of it, with all that it holds."""
        own.remove(self.path, name)


def leftovers(target: Path) -> list[Path]:
    """Folders of runs that are gone."""
    found = Binary.find().document("scratch", "list", "--named", _PREFIX, str(target))
    return [Path(entry["path"]) for entry in found if not entry["alive"]]


def clean(target: Path) -> list[Json]:
    """Removes folders of runs that are gone, and ends servers that still run on them; says what became of each."""
    for path in leftovers(target):
        _clean_inside(path / "data")
        _end_server(path / "data")
        segment.free(path / "data")
    binary, sockets = Binary.find(), tempfile.gettempdir()
    binary.document("scratch", "clean", "--named", SOCKETS, sockets)
    found: list[Json] = binary.document("scratch", "clean", "--named", _PREFIX, str(target))
    return found


def _clean_inside(folder: Path) -> None:
    """A run works in a folder of its place; a server's files in there are known to the register as that folder's."""
    try:
        ours = folder.lstat().st_uid == os.geteuid() and folder.is_dir() and not folder.is_symlink()
    except OSError:
        return
    if ours:
        clean(folder)


def _end_server(data: Path) -> None:
    """Ends the server that the note in a data folder of ours names, if it works on that folder and is of its user."""
    try:
        owner = data.lstat().st_uid
        handle = os.open(data / "postmaster.pid", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(handle) as note:
            pid = int(note.readline(32))
        process = os.pidfd_open(pid)
    except (OSError, ValueError):
        return
    try:
        # Asked after it is held by the descriptor: a number that was given out again is another process.
        seen = Path(f"/proc/{pid}")
        if seen.stat().st_uid == owner and (seen / "cwd").samefile(data):
            signal.pidfd_send_signal(process, signal.SIGQUIT)
            select.select([process], [], [], _END_S)
    except OSError:
        return  # It has ended meanwhile.
    finally:
        os.close(process)
