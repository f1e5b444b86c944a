"""Classes of I/O out of operations: what a scenario replays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from assay.trace import pattern
from assay.trace.operation import KERNEL, OTHER, OWN, Recording, TracedOperation
from assay.untyped import Json

# A class below this share of all bytes and operations is noise of the recording, unless it is all there is.
_LEAST_SHARE = 0.001
# Fewer operations that are only worth it by their bytes tell no rate: a window as long as the recording may see none.
_LEAST_OPERATIONS = 10
_MOST_DEPTH = 1024
_MOST_BURST = 1024


@dataclass(frozen=True)
class TracedClass:
    """A class. `rate_per_s` is operations a second that are the database's; `flushes_per_s` goes with writes."""

    name: str
    operation: str
    sequential: bool
    sizes: tuple[tuple[int, int], ...]
    count: int
    rate_per_s: float
    depth: int
    mean_depth: float
    footprint_bytes: int
    flushes_per_s: float = 0.0
    variation: float = 1.0
    group: float = 1.0
    latency_s: tuple[float, float] | None = None
    hot: tuple[int, int] | None = None

    @property
    def mean_bytes(self) -> float:
        """Of an operation."""
        return sum(size * count for size, count in self.sizes) / sum(count for _, count in self.sizes)

    @property
    def bytes_per_s(self) -> float:
        """Of the class."""
        return self.rate_per_s * self.mean_bytes

    @property
    def flush_every(self) -> int:
        """Writes for each flush; 0 where nothing is flushed."""
        return max(1, round(self.rate_per_s / self.flushes_per_s)) if self.flushes_per_s > 0 else 0

    @property
    def arrivals(self) -> str:
        """The law of arrivals that looks most like it."""
        if self.group >= 2 and self.variation > 2:
            return "burst"
        return "fixed" if self.variation < 0.25 else "poisson"

    @property
    def burst(self) -> int:
        """Operations that come at one instant."""
        return min(_MOST_BURST, max(2, round(self.group)))

    def document(self) -> Json:
        """For `--json`."""
        return {
            "name": self.name,
            "operation": self.operation,
            "pattern": "sequential" if self.sequential else "random",
            "sizes": [{"bytes": size, "weight": count} for size, count in self.sizes],
            "operations": self.count,
            "ops_per_s": self.rate_per_s,
            "bandwidth_bytes_per_s": self.bytes_per_s,
            "in_flight_mean": self.mean_depth,
            "in_flight_p99": self.depth,
            "footprint_bytes": self.footprint_bytes,
            "flushes_per_s": self.flushes_per_s,
            "gap_variation": self.variation,
            "arrivals": self.arrivals,
            "latency_mean_s": self.latency_s[0] if self.latency_s else None,
            "latency_p99_s": self.latency_s[1] if self.latency_s else None,
            "hot_percent_of_operations": self.hot[0] if self.hot else None,
            "provenance": "measured",
        }


@dataclass(frozen=True)
class SortedClasses:
    """The classes of a recording, the largest first, and those of too few operations to tell how often they come."""

    classes: list[TracedClass]
    rare: list[TracedClass]

    def not_known(self, seconds: float) -> list[str]:
        """What was left out because it is rare, as sentences."""
        return [
            f"how often {one.name} comes, which is left out: {max(1, round(one.rate_per_s * seconds))} of "
            f"{one.mean_bytes / 1e3:,.0f} kB in {seconds:.1f} s tell no rate"
            for one in self.rare
        ]


def classes_of(recording: Recording) -> SortedClasses:
    """The classes of a recording; foreign operations and noise are left out."""
    ours = [one for one in recording.operations if one.origin != OTHER]
    reads = _in_order([one for one in ours if one.kind == "read" and one.origin == OWN])
    writes = [one for one in ours if one.kind == "write"]
    own = _in_order([one for one in writes if one.origin == OWN and one.sync and not one.metadata])
    later = _in_order([one for one in writes if one.origin == OWN and not one.sync and not one.metadata])
    kernel = [one for one in writes if one.origin == KERNEL and not one.metadata]
    groups = {
        "scan": [one for one, ordered in reads if ordered],
        "point-reads": [one for one, ordered in reads if not ordered],
        "log": [one for one, ordered in own if ordered],
        "sync-writes": [one for one, ordered in own if not ordered],
        "stream-writes": [one for one, ordered in later if ordered],
        "page-writes": [one for one, ordered in later if not ordered],
        "write-back": kernel,
        "metadata": [one for one in writes if one.metadata],
    }
    flushes = _flushes(ours, groups, recording)
    found = [_seen(name, members, recording, flushes.get(name, 0.0)) for name, members in groups.items() if members]
    by_size = sorted(_worth(found), key=lambda one: -one.bytes_per_s)
    rare = [one for one in by_size if _is_rare(one, found, recording.seconds)]
    return SortedClasses([one for one in by_size if one not in rare], rare)


def _in_order(operations: Sequence[TracedOperation]) -> list[tuple[TracedOperation, bool]]:
    return list(zip(operations, pattern.in_order(operations), strict=True))


def _flushes(
    operations: Sequence[TracedOperation], groups: dict[str, list[TracedOperation]], recording: Recording
) -> dict[str, float]:
    """Flushes a second by class: each goes to the class that its task wrote last, or to the first that is synced."""
    class_of = {id(one): name for name, members in groups.items() for one in members}
    fallback = next((name for name in ("log", "sync-writes", "page-writes", "metadata") if groups[name]), "")
    last: dict[int, str] = {}
    found: dict[str, float] = {}
    for one in sorted(operations, key=lambda one: one.at_s):
        name = class_of.get(id(one), "")
        if one.kind == "write" and name and name != "metadata":
            last[one.task] = name
        elif one.kind == "flush" and (name := last.get(one.task, fallback)):
            share = recording.kernel_share if one.origin == KERNEL else 1.0
            found[name] = found.get(name, 0.0) + share / recording.seconds
    return found


def _seen(name: str, members: Sequence[TracedOperation], recording: Recording, flushes_per_s: float) -> TracedClass:
    reads = members[0].kind == "read"
    counted = math.fsum(recording.kernel_share if one.origin == KERNEL else 1.0 for one in members)
    ordered = name in ("scan", "log", "stream-writes") or (name == "write-back" and _mostly_in_order(members))
    mean, deepest = pattern.in_flight(members)
    variation, group = pattern.bursts(members)
    return TracedClass(
        name=name,
        operation="read" if reads else "write",
        sequential=ordered,
        sizes=pattern.size_mix([one.bytes for one in members]),
        count=len(members),
        rate_per_s=counted / recording.seconds,
        depth=min(_MOST_DEPTH, deepest),
        mean_depth=mean,
        footprint_bytes=pattern.footprint(members),
        flushes_per_s=flushes_per_s,
        variation=variation,
        group=group,
        latency_s=pattern.latencies(members),
        hot=None if ordered else pattern.hot_spot(members),
    )


def _mostly_in_order(members: Sequence[TracedOperation]) -> bool:
    ordered = pattern.in_order(members)
    return sum(ordered) * 2 > len(ordered)


def _worth(found: Sequence[TracedClass]) -> list[TracedClass]:
    """Those that are more than noise."""
    all_bytes = math.fsum(one.bytes_per_s for one in found)
    all_rates = math.fsum(one.rate_per_s for one in found)
    return [
        one
        for one in found
        if one.rate_per_s > 0
        and (one.bytes_per_s >= all_bytes * _LEAST_SHARE or one.rate_per_s >= all_rates * _LEAST_SHARE)
    ]


def _is_rare(one: TracedClass, found: Sequence[TracedClass], seconds: float) -> bool:
    """Whether it has too few operations to tell a rate, and is no noise only for their bytes."""
    all_rates = math.fsum(other.rate_per_s for other in found)
    return one.rate_per_s * seconds < _LEAST_OPERATIONS and one.rate_per_s < all_rates * _LEAST_SHARE
