"""A process with its descendants: who they are, what the kernel counts for them, whether one may look."""

from __future__ import annotations

import contextlib
import os
import pwd
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from assay.error import BAD_JOB, NOT_POSSIBLE
from assay.trace.error import TraceError

_PROC = Path("/proc")
_PF_KTHREAD = 0x00200000


@dataclass(frozen=True)
class Used:
    """What `/proc/PID/io` counts of a process tree. `read_bytes` came from devices, `written_bytes` were made dirty and
    not taken back; `read_calls` and `write_calls` are system calls of any kind of file."""

    read_bytes: int = 0
    written_bytes: int = 0
    read_calls: int = 0
    write_calls: int = 0

    def since(self, before: Used) -> Used:
        """The difference; a process that ended takes its counts along, which must not make it negative."""
        return Used(
            max(0, self.read_bytes - before.read_bytes),
            max(0, self.written_bytes - before.written_bytes),
            max(0, self.read_calls - before.read_calls),
            max(0, self.write_calls - before.write_calls),
        )


def check(pid: int) -> str:
    """The name of a process that may be looked at.

    Raises:
        TraceError: where it is not there, is a thread of the kernel, or belongs to another user.
    """
    if pid <= 0 or not (_PROC / str(pid)).is_dir():
        hint = "look it up with `pgrep -a postgres`, or record the device under a folder: --path DIR"
        raise TraceError(f"there is no process {pid}", hint=hint, code=BAD_JOB)
    name = name_of(pid)
    if is_kernel(pid):
        hint = "name the database's own process"
        raise TraceError(f"process {pid} ({name}) is a thread of the kernel", hint=hint, code=BAD_JOB)
    try:
        (_PROC / str(pid) / "io").read_text()
    except PermissionError as error:
        owner = _owner(pid)
        message = f"process {pid} ({name}) belongs to {owner}, and its counters may not be read"
        who = owner if owner == "root" else f"{owner} or root"
        hint = f"run as {who}; `--path DIR` records the whole device under a folder instead"
        raise TraceError(message, hint=hint, code=NOT_POSSIBLE) from error
    return name


def _owner(pid: int) -> str:
    number = (_PROC / str(pid)).stat().st_uid
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"


def name_of(pid: int) -> str:
    """The kernel's short name of a process; empty where it is gone."""
    try:
        return (_PROC / str(pid) / "comm").read_text().strip()
    except OSError:
        return ""


def alive(pid: int) -> bool:
    """It is there, and no zombie."""
    fields = _stat(pid)
    return bool(fields) and fields[0] not in ("Z", "X")


def is_kernel(pid: int) -> bool:
    """It is a thread of the kernel."""
    fields = _stat(pid)
    return bool(fields) and bool(int(fields[6]) & _PF_KTHREAD)


def _stat(pid: int) -> list[str]:
    """Fields of `/proc/PID/stat` after the name: state first."""
    try:
        return (_PROC / str(pid) / "stat").read_text().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return []


def tree(pid: int) -> list[int]:
    """A process and its living descendants."""
    parents: dict[int, list[int]] = {}
    for entry in _PROC.iterdir():
        if entry.name.isdigit() and (fields := _stat(int(entry.name))):
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found, waiting = [], [pid]
    while waiting:
        one = waiting.pop()
        found.append(one)
        waiting += parents.get(one, [])
    return found


def tasks(pids: Iterable[int]) -> set[int]:
    """The threads of processes."""
    found: set[int] = set()
    for pid in pids:
        try:
            found |= {int(entry.name) for entry in (_PROC / str(pid) / "task").iterdir()}
        except OSError:
            continue
    return found


def used(pids: Iterable[int]) -> Used:
    """What the kernel counted for processes so far. The counts of ended children stand in their parent's."""
    sums = [0, 0, 0, 0]
    for pid in pids:
        try:
            text = (_PROC / str(pid) / "io").read_text()
        except OSError:
            continue
        one = {key: int(value) for key, value in (line.split(": ") for line in text.splitlines())}
        written = one["write_bytes"] - one["cancelled_write_bytes"]
        found = (one["read_bytes"], written, one["syscr"], one["syscw"])
        sums = [total + value for total, value in zip(sums, found, strict=True)]
    return Used(*sums)


def open_files(pids: Iterable[int]) -> set[Path]:
    """Regular files that processes have open."""
    found: set[Path] = set()
    for pid in pids:
        try:
            links = list((_PROC / str(pid) / "fd").iterdir())
        except OSError:
            continue
        for link in links:
            try:
                path = link.readlink()
                if path.is_absolute() and path.is_file():
                    found.add(path)
            except OSError:
                continue
    return found


def inodes(paths: Iterable[Path]) -> set[int]:
    """Numbers of files, and of all files in folders."""
    found: set[int] = set()
    for path in paths:
        inside = [Path(at, name) for at, _, names in os.walk(path) for name in names]
        for one in inside or [path]:
            with contextlib.suppress(OSError):
                found.add(one.stat().st_ino)
    return found


def memory_bytes(pids: Iterable[int]) -> int | None:
    """Memory that processes hold, shared pages in equal parts (`smaps_rollup`); none where it may not be read."""
    total = 0
    for pid in pids:
        try:
            text = (_PROC / str(pid) / "smaps_rollup").read_text()
        except OSError:
            return None
        total += sum(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("Pss:"))
    return total
