"""Cold files: the page cache gives up its copies, and that it did is seen, not hoped for."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from assay.error import FAILED, AssayError

# File systems whose files are the memory: there is nothing to clear.
IN_MEMORY = ("tmpfs", "ramfs")
_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mmap.restype = ctypes.c_void_p
_LIBC.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
_LIBC.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_LIBC.mincore.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p)
_FAILED = ctypes.c_void_p(-1).value
# What may stay: the odd page that somebody looked at in between. Parts of the whole.
ALLOWED = 0.001


class ColdError(AssayError):
    """Files stayed in the page cache."""


@dataclass(frozen=True)
class Cleared:
    """What clearing did. Bytes."""

    bytes: int
    resident_before: int
    resident_after: int

    @property
    def sentence(self) -> str:
        """For the record."""
        return (
            f"{self.resident_after:,} of {self.bytes:,} bytes were in the page cache, {self.resident_before:,} before"
        )


def files_under(folder: Path) -> list[Path]:
    """Every file in a folder, or the file itself."""
    if folder.is_file():
        return [folder]
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def clear(folders: Iterable[Path], attempts: int = 3) -> Cleared:
    """Writes back and drops the pages of every file, and looks whether they are gone.

    Whoever uses the files must have closed them: mapped pages stay.

    Raises:
        ColdError: where more than a thousandth stayed.
    """
    files = [path for folder in folders for path in files_under(folder)]
    total = sum(path.stat().st_size for path in files)
    before = after = sum(map(resident, files))
    for _ in range(attempts):
        for path in files:
            _drop(path)
        after = sum(map(resident, files))
        if after <= total * ALLOWED:
            return Cleared(total, before, after)
    message = f"{after:,} of {total:,} bytes stay in the page cache although they were dropped {attempts} times"
    raise ColdError(message, hint="look who has the files open or mapped (fuser, lsof), and stop it", code=FAILED)


def _drop(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)  # Dirty pages are not dropped.
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(handle)


def resident(path: Path) -> int:
    """Bytes of a file that lie in the page cache; whole pages count."""
    size = path.stat().st_size
    if size == 0:
        return 0
    handle = os.open(path, os.O_RDONLY)
    try:
        return _resident(handle, size)
    finally:
        os.close(handle)


def _resident(handle: int, size: int) -> int:
    # Python's own mapping gives no address without write access.
    address = _LIBC.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, handle, 0)
    if address == _FAILED:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    try:
        pages = ctypes.create_string_buffer((size + mmap.PAGESIZE - 1) // mmap.PAGESIZE)
        if _LIBC.mincore(address, size, pages) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return min(size, sum(byte & 1 for byte in pages.raw) * mmap.PAGESIZE)
    finally:
        _LIBC.munmap(address, size)
