"""Block devices under files: whole disks that serve requests, and which sectors of them are meant."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

SECTOR = 512
_CLASS = Path("/sys/class/block")


@dataclass(frozen=True)
class TracedDevice:
    """A disk by its kernel name. `first` and `last` bound the sectors of the partition that is meant."""

    name: str
    number: tuple[int, int]
    first: int = 0
    last: int = 1 << 62

    def holds(self, sector: int) -> bool:
        """The sector is of the partition that is meant."""
        return self.first <= sector < self.last

    def counts(self) -> list[float]:
        """Reads, merged, sectors, ms; writes, merged, sectors, ms; in flight, busy ms, weighted ms; flushes."""
        values = [float(word) for word in (_CLASS / self.name / "stat").read_text().split()]
        return [*values[:11], values[15] if len(values) > 15 else 0.0]


def devices_of(paths: Iterable[Path]) -> list[TracedDevice]:
    """Disks under files or folders; none for what lies in memory or on the network."""
    numbers = set()
    for path in paths:
        try:
            numbers.add(_number(path))
        except OSError:
            continue
    found: dict[TracedDevice, None] = {}
    for number in sorted(numbers):
        found |= dict.fromkeys(_below(Path(f"/sys/dev/block/{number[0]}:{number[1]}")))
    return list(found)


def _number(path: Path) -> tuple[int, int]:
    """Major and minor number. File systems over several devices have numbers of their own: their mount names one."""
    number = path.stat().st_dev
    major, minor = os.major(number), os.minor(number)
    if major != 0:
        return major, minor
    source = _source(f"{major}:{minor}")
    if source.startswith("/dev/"):
        number = Path(source).stat().st_rdev
    return os.major(number), os.minor(number)


def _source(number: str) -> str:
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields = line.split()
        if fields[2] == number:
            return fields[fields.index("-") + 2]
    return ""


def _below(place: Path) -> list[TracedDevice]:
    """What serves a device's requests: itself, the disk of a partition, or the members of a mapped or joined one."""
    if not place.exists():
        return []
    real = place.resolve()
    if (real / "partition").is_file():
        first, count = (int((real / name).read_text()) for name in ("start", "size"))
        return [TracedDevice(one.name, one.number, first, first + count) for one in _below(real.parent)]
    members = sorted((real / "slaves").iterdir()) if (real / "slaves").is_dir() else []
    if members:
        return [found for member in members for found in _below(member)]
    major, minor = (real / "dev").read_text().strip().split(":")
    return [TracedDevice(real.name, (int(major), int(minor)))]
