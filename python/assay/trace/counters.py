"""What anybody may read: counters of the device and of the process. Rates and mean sizes, and nothing else."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from assay.trace.classes import TracedClass
from assay.trace.device import SECTOR, TracedDevice
from assay.trace.process import Used

# Merged requests to those that reached the device, above which they are taken to be in order.
_MERGED = 0.5
# Mean request above which it is taken to be in order.
_LARGE_BYTES = 64 << 10
# Where no counter tells a size.
PAGE_BYTES = 8192


@dataclass(frozen=True)
class Moved:
    """What devices did in a window, by way: 0 reads, 1 writes."""

    operations: tuple[float, float]
    merged: tuple[float, float]
    bytes: tuple[float, float]
    flushes: float
    busy_s: float
    weighted_s: float

    def mean_bytes(self, way: int) -> float:
        """Of a request; 0 where there was none."""
        return self.bytes[way] / self.operations[way] if self.operations[way] else 0.0

    def in_order(self, way: int) -> bool:
        """Requests look as if they came in order."""
        merged = self.operations[way] > 0 and self.merged[way] / self.operations[way] > _MERGED
        return merged or self.mean_bytes(way) >= _LARGE_BYTES

    @property
    def depth(self) -> float:
        """Requests in flight while the device was busy."""
        return max(1.0, self.weighted_s / self.busy_s) if self.busy_s > 0 else 1.0


def watch(devices: Sequence[TracedDevice], seconds: float, on_look: Callable[[], bool]) -> tuple[Moved, float]:
    """Waits, and says what the devices did meanwhile and how long it was."""
    before = [one.counts() for one in devices]
    begun = time.monotonic()
    while (left := begun + seconds - time.monotonic()) > 0 and not on_look():
        time.sleep(min(0.1, left))
    lasted = time.monotonic() - begun
    after = [one.counts() for one in devices]
    sums = [0.0] * 12
    for old, new in zip(before, after, strict=True):
        sums = [total + now - then for total, now, then in zip(sums, new, old, strict=True)]
    moved = Moved(
        operations=(sums[0], sums[4]),
        merged=(sums[1], sums[5]),
        bytes=(sums[2] * SECTOR, sums[6] * SECTOR),
        flushes=sums[11],
        busy_s=sums[9] / 1000,
        weighted_s=sums[10] / 1000,
    )
    return moved, lasted


def classes_of(moved: Moved, used: Used | None, seconds: float) -> list[TracedClass]:
    """One class of reads and one of writes. `used` is the process's part; without it the whole device is meant.

    Flushes of the device are the process's in the part that its writes have in those of the device.
    """
    bytes_ = moved.bytes
    if used is not None:
        # The process's counter has pages that were made dirty, several times or whole folios: an upper bound.
        written = min(float(used.written_bytes), moved.bytes[1] or float(used.written_bytes))
        bytes_ = (float(used.read_bytes), written)
    part = min(1.0, bytes_[1] / moved.bytes[1]) if moved.bytes[1] > 0 else 1.0
    flushes = moved.flushes * part / seconds
    found = [
        _seen(name, way, bytes_[way], moved, seconds, flushes if way else 0.0)
        for way, name in enumerate(("reads", "writes"))
        if bytes_[way] > 0
    ]
    return sorted(found, key=lambda one: -one.bytes_per_s)


def _seen(name: str, way: int, total: float, moved: Moved, seconds: float, flushes_per_s: float) -> TracedClass:
    size = moved.mean_bytes(way) or PAGE_BYTES
    rounded = max(4096, round(size / 4096) * 4096)
    return TracedClass(
        name=name,
        operation="write" if way else "read",
        sequential=moved.in_order(way),
        sizes=((rounded, 1),),
        count=max(1, round(total / size)),
        rate_per_s=total / rounded / seconds,
        depth=max(1, round(moved.depth)),
        mean_depth=moved.depth,
        footprint_bytes=round(total),
        flushes_per_s=flushes_per_s,
    )
