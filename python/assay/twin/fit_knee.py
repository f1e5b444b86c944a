"""Whether a device slowed down while it was written to without a pause, and after how many bytes."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from assay.record import IntervalPoint

# A fall below this share of the beginning, which lasts to the end, is a knee.
_FALL = 0.8
_PARTS = 4


@dataclass(frozen=True)
class Sustained:
    """Bandwidths at the beginning and at the end, bytes per second; bytes written before the knee, if there is one."""

    seconds: float
    written_bytes: float
    early_bytes_per_s: float
    late_bytes_per_s: float
    knee_bytes: float | None

    def told(self) -> str:
        """In words."""
        gib = self.written_bytes / 2**30
        if self.knee_bytes is None:
            return f"no knee was seen in {gib:.1f} GiB written in {self.seconds:.0f} s"
        fall = self.late_bytes_per_s / self.early_bytes_per_s
        return f"after {self.knee_bytes / 2**30:.1f} GiB writes fell to {fall:.0%} of what they were"


def find(intervals: Sequence[IntervalPoint]) -> Sustained | None:
    """From the intervals of a sustained write; none where it was too short to tell."""
    whole = [entry for entry in intervals if entry["length_s"] > 0]
    if len(whole) < 2 * _PARTS:
        return None
    rates = [entry["bytes"] / entry["length_s"] for entry in whole]
    quarter = len(rates) // _PARTS
    early, late = statistics.median(rates[:quarter]), statistics.median(rates[-quarter:])
    written = float(sum(entry["bytes"] for entry in whole))
    seconds = float(sum(entry["length_s"] for entry in whole))
    knee = _knee(whole, rates, (early + late) / 2) if late < _FALL * early else None
    return Sustained(seconds, written, early, late, knee)


def _knee(whole: Sequence[IntervalPoint], rates: Sequence[float], middle: float) -> float:
    """Bytes before the place that best parts fast from slow."""
    fast = [rate > middle for rate in rates]
    slow_before, fast_after = 0, sum(fast)
    best, place = len(rates) + 1, 0
    for index in range(len(rates) + 1):
        if slow_before + fast_after < best:
            best, place = slow_before + fast_after, index
        if index < len(rates):
            slow_before, fast_after = slow_before + (not fast[index]), fast_after - fast[index]
    return float(sum(entry["bytes"] for entry in whole[:place]))
