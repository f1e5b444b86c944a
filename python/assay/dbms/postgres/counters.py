"""What a server did between two readings: CPU and bytes of its processes, bytes of devices, its own counts."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

SECTOR = 512
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Used:
    """Differences of two readings: seconds, CPU seconds, bytes; `engine` holds the server's own counts by name."""

    seconds: float
    user_s: float
    kernel_s: float
    process_read_bytes: int
    process_written_bytes: int
    device_read_bytes: int
    device_written_bytes: int
    devices: tuple[str, ...]
    engine: Mapping[str, float]

    @property
    def cpu_s(self) -> float:
        """CPU seconds in all."""
        return self.user_s + self.kernel_s


@dataclass(frozen=True)
class Counters:
    """One reading."""

    at: float
    user_s: float
    kernel_s: float
    read_bytes: int
    written_bytes: int
    devices: Mapping[str, tuple[int, int]]
    engine: Mapping[str, float] = field(default_factory=dict)

    def until(self, later: Counters) -> Used:
        """What happened between this reading and a later one."""
        names = tuple(sorted(self.devices.keys() & later.devices.keys()))
        moved = [[later.devices[name][way] - self.devices[name][way] for name in names] for way in (0, 1)]
        engine = {name: later.engine[name] - before for name, before in self.engine.items() if name in later.engine}
        return Used(
            later.at - self.at,
            later.user_s - self.user_s,
            later.kernel_s - self.kernel_s,
            later.read_bytes - self.read_bytes,
            later.written_bytes - self.written_bytes,
            sum(moved[0]),
            sum(moved[1]),
            names,
            engine,
        )


def read(pid: int, folders: Iterable[Path], engine: Mapping[str, float] | None = None) -> Counters:
    """Reads a server, its living children, and the devices under its folders.

    What ended children used is counted by the kernel in their parent's account.
    """
    user, kernel = _cpu(pid, with_children=True)
    read_bytes, written_bytes = _io(pid)
    for child in children(pid):
        used, moved = _cpu(child, with_children=True), _io(child)
        user, kernel = user + used[0], kernel + used[1]
        read_bytes, written_bytes = read_bytes + moved[0], written_bytes + moved[1]
    return Counters(time.monotonic(), user, kernel, read_bytes, written_bytes, device_bytes(folders), engine or {})


def children(pid: int) -> list[int]:
    """Living children of a process."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += map(int, task.read_text().split())
        except OSError:
            continue
    return found


def _cpu(pid: int, *, with_children: bool) -> tuple[float, float]:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0, 0.0
    user, kernel, past_user, past_kernel = (int(field) / _TICKS for field in fields[11:15])
    return (user + past_user, kernel + past_kernel) if with_children else (user, kernel)


def _io(pid: int) -> tuple[int, int]:
    try:
        text = Path(f"/proc/{pid}/io").read_text()
    except OSError:
        return 0, 0
    fields = dict(line.split(": ") for line in text.splitlines())
    return int(fields["read_bytes"]), int(fields["write_bytes"]) - int(fields["cancelled_write_bytes"])


def device_bytes(folders: Iterable[Path]) -> dict[str, tuple[int, int]]:
    """Bytes read from and written to the devices under folders, by kernel name; without those that have no device."""
    found = {}
    for folder in folders:
        number = folder.stat().st_dev
        stat = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
        try:
            fields = (stat / "stat").read_text().split()
        except OSError:
            continue
        found[stat.resolve().name] = (int(fields[2]) * SECTOR, int(fields[6]) * SECTOR)
    return found
