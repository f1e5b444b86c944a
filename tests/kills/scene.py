"""What a killed command leaves: processes, folders, mounts, loop devices, control groups, shared memory."""

from __future__ import annotations

import json
import os
from fnmatch import fnmatch
from pathlib import Path

MARK = "ASSAY_KILLED_BY_TEST"
#: Where a run's records lie: of loads, and of all other work.
_RECORDS = ("records", "work")


def processes(folder: Path) -> dict[int, str]:
    """Processes that carry the folder in their environment, their words or as the folder they stand in."""
    needle, found = str(folder).encode(), {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            words = (entry / "cmdline").read_bytes()
            marked = f"{MARK}=".encode() + needle in (entry / "environ").read_bytes()
            inside = (entry / "cwd").readlink().is_relative_to(folder)
        except OSError:
            continue
        if words and (marked or inside or needle in words):
            found[int(entry.name)] = words.replace(b"\0", b" ").decode(errors="replace")[:120]
    return found


def outside(folder: Path) -> set[str]:
    """What is not in the folder, and may be left elsewhere: by name, so that two looks can be compared."""
    mounts = {line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()}
    left = {f"mount {at}" for at in mounts if Path(at).is_relative_to(folder) or "tracing" in at}
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            name = backing.read_text().strip()
        except OSError:
            continue
        left |= {f"loop device on {name}"} if str(folder) in name else set()
    groups = Path("/sys/fs/cgroup").glob("**/*assay*")
    # Other tests that run at the same time make groups of their own.
    left |= {f"control group {group}" for group in groups if group.is_dir() and "assay-test" not in group.name}
    shared = [one for pattern in ("*assay*", "PostgreSQL.*") for one in Path("/dev/shm").glob(pattern)]
    left |= {f"shared memory {one}" for one in shared if not _in_use(one)}
    return left | {f"shared memory segment {one}" for one in _segments()}


def _in_use(one: Path) -> bool:
    """Some process has it open or mapped: it is of another run on this machine, as what is left is nobody's."""
    needle = str(one)
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if needle in (process / "maps").read_text(errors="replace"):
                return True
            if any(str(handle.readlink()).startswith(needle) for handle in (process / "fd").iterdir()):
                return True
        except OSError:
            continue
    return False


def _segments() -> set[str]:
    """System V segments that nobody has attached, and whose maker is gone."""
    lines = [line.split() for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]
    return {line[1] for line in lines if line[6] == "0" and not Path(f"/proc/{line[4]}").exists()}


def names(folder: Path, keeps: tuple[str, ...]) -> list[str]:
    """What lies in the folder, beside what was asked for."""
    return sorted(one.name for one in folder.iterdir() if not any(fnmatch(one.name, kept) for kept in keeps))


def lost(results: Path) -> str:
    """What is missing of finished cells: a cell whose journal says finished has a whole record."""
    if not results.is_dir():
        return ""
    for journal in results.rglob("journal.ndjson"):
        whole = journal.read_bytes().rpartition(b"\n")[0]
        for line in whole.splitlines():
            entry = json.loads(line)
            records = [journal.parent / folder / f"{entry['cell']}.json" for folder in _RECORDS]
            if entry["state"] == "finished" and not any(_whole(record) for record in records):
                return f"{entry['cell']} was finished, and none of {records} is whole"
    halves = [one for folder in _RECORDS for one in results.rglob(f"{folder}/*.json") if not _whole(one)]
    return f"{halves[0]} is no whole document" if halves else ""


def _whole(record: Path) -> bool:
    try:
        return isinstance(json.loads(record.read_bytes()), dict)
    except (OSError, ValueError):
        return False
