"""The System V segment by which a PostgreSQL server guards its data folder; one that was killed leaves it behind."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

_IPC_RMID = 0
_LIBC = ctypes.CDLL(None, use_errno=True)
# Where the note in a data folder says `KEY ID` (pidfile.h: LOCK_FILE_LINE_SHMEM_KEY).
_LINE = 6
# A server takes the inode of its data folder for the key, or one of the next where that is taken (sysv_shmem.c).
_TRIES = 64
_KEYS = 1 << 32
_NOTE_BYTES = 4096


def free(data: Path) -> bool:
    """Gives back the segment that a data folder's note names; whether there was one.

    The note is a file that others may have put there: the segment must be of the folder's owner, and its key that of
    this very folder, or nothing is done.
    """
    try:
        folder = data.lstat()
        handle = os.open(data / "postmaster.pid", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(handle) as note:
            key, number = (int(word) for word in note.read(_NOTE_BYTES).splitlines()[_LINE].split())
    except (OSError, ValueError, IndexError):
        return False
    distance = (key - folder.st_ino) % _KEYS
    if distance >= _TRIES or _seen().get(number) != (key % _KEYS, folder.st_uid):
        return False
    return bool(_LIBC.shmctl(ctypes.c_int(number), _IPC_RMID, None) == 0)


def _seen() -> dict[int, tuple[int, int]]:
    """Key and owner of every segment, by number."""
    try:
        lines = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
    except OSError:
        return {}
    rows = [line.split() for line in lines]
    return {int(row[1]): (int(row[0]) % _KEYS, int(row[7])) for row in rows}
