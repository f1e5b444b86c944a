"""A folder under measurement is one run's: a lock on the folder itself, which the kernel lets go of however a run ends.

Programs that are started for the run inherit it, and learn so from a variable; others are told who has it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

INHERITED = "ASSAY_HOLDS"
"""Names the descriptors that a program inherits, as the measuring program reads it."""
_HELD: dict[tuple[int, int], int] = {}


class TakenError(Exception):
    """Another run measures in a folder: `who` is a process, as far as it is seen."""

    def __init__(self, folder: Path, who: str) -> None:
        super().__init__(f"{who} measures in {folder}, and both would be measured at once")


@contextlib.contextmanager
def taken(folders: Iterable[str | Path]) -> Iterator[None]:
    """Holds folders meanwhile; those that this process holds already, and what is no folder, are passed over.

    Raises:
        TakenError: where another run has one.
    """
    mine: list[tuple[int, int]] = []
    try:
        for folder in folders:
            mine += _take(Path(folder))
        yield
    finally:
        for key in mine:
            os.close(_HELD.pop(key))


def descriptors() -> tuple[int, ...]:
    """What programs that are started are to inherit."""
    return tuple(_HELD.values())


def environment() -> dict[str, str] | None:
    """The environment of such a program; none where it is this one's."""
    return os.environ | {INHERITED: ",".join(map(str, _HELD.values()))} if _HELD else None


def _take(folder: Path) -> list[tuple[int, int]]:
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return []  # What is wrong with it is told by whoever measures there.
    facts = os.fstat(handle)
    key = (facts.st_dev, facts.st_ino)
    if key in _HELD:
        os.close(handle)
        return []
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        if isinstance(error, BlockingIOError):
            raise TakenError(folder, _holder(facts)) from error
        return []  # A file system without locks on folders.
    _HELD[key] = handle
    return [key]


def _holder(facts: os.stat_result) -> str:
    wanted = f"{os.major(facts.st_dev):02x}:{os.minor(facts.st_dev):02x}:{facts.st_ino}"
    with contextlib.suppress(OSError):
        for line in Path("/proc/locks").read_text().splitlines():
            parts = line.split()
            if parts[1:2] == ["FLOCK"] and parts[5:6] == [wanted] and int(parts[4]) > 0:
                return f"process {parts[4]} ({_command(parts[4])})"
    return "a process that is not seen from here"


def _command(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return "gone"
