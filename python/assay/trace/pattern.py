"""What operations look like together: in order or not, even or in bursts, how many at once, how skewed."""

from __future__ import annotations

import math
import statistics
from collections import Counter, OrderedDict
from collections.abc import Sequence
from itertools import pairwise

from assay.trace.operation import TracedOperation

# A stream goes on where an operation begins no further than this behind the end of the one before, or writes its last
# block again, as logs do.
NEAR_BYTES = 32 << 10
# Streams that are remembered at once.
_STREAMS = 32
# Operations in a row, or bytes of one, that make a stream: two may meet by chance.
_LONG = 4
_LARGE_BYTES = 256 << 10
# Regions in which skew is looked for.
REGION_BYTES = 64 << 10
_HOT_SHARE = 0.1
_HOT_AT_LEAST = 0.4
_OPERATIONS_FOR_SKEW = 2000
_SAME_INSTANT_S = 0.000_5


def in_order(operations: Sequence[TracedOperation]) -> list[bool]:
    """Of each operation, whether it belongs to a stream of neighbours."""
    streams: list[int] = []
    lengths: Counter[int] = Counter()
    recent: OrderedDict[tuple[str, int], tuple[int, int]] = OrderedDict()
    for number, one in enumerate(operations):
        stream = _stream(recent, one, number)
        streams.append(stream)
        lengths[stream] += 1
    return [
        lengths[stream] >= _LONG or one.bytes >= _LARGE_BYTES for stream, one in zip(streams, operations, strict=True)
    ]


def _stream(recent: OrderedDict[tuple[str, int], tuple[int, int]], one: TracedOperation, new: int) -> int:
    """The stream that an operation continues, or a new one; streams are kept by where their end lies."""
    bucket = one.offset // NEAR_BYTES
    stream = new
    for key in ((one.place, bucket), (one.place, bucket - 1), (one.place, bucket + 1)):
        end, known = recent.get(key, (-1, -1))
        if end >= 0 and -one.bytes <= one.offset - end <= NEAR_BYTES:
            stream = known
            del recent[key]
            break
    recent[one.place, (one.offset + one.bytes) // NEAR_BYTES] = (one.offset + one.bytes, stream)
    if len(recent) > _STREAMS:
        recent.popitem(last=False)
    return stream


def hot_spot(operations: Sequence[TracedOperation]) -> tuple[int, int] | None:
    """Percent of operations that go to which percent of the regions; none where no skew is sure.

    The hottest tenth is chosen by every second operation and judged by the others, so that chance does not look like
    skew.
    """
    if len(operations) < _OPERATIONS_FOR_SKEW:
        return None
    regions = [(one.place, one.offset // REGION_BYTES) for one in operations]
    chosen, judged = Counter(regions[::2]), Counter(regions[1::2])
    many = max(1, round(len(chosen.keys() | judged.keys()) * _HOT_SHARE))
    hot = {region for region, _ in chosen.most_common(many)}
    share = sum(count for region, count in judged.items() if region in hot) / max(1, judged.total())
    return (min(99, round(share * 100)), round(_HOT_SHARE * 100)) if share >= _HOT_AT_LEAST else None


def footprint(operations: Sequence[TracedOperation]) -> int:
    """Bytes of the regions that were touched, whole regions of 64 KiB."""
    found: set[tuple[str, int]] = set()
    for one in operations:
        first, last = one.offset // REGION_BYTES, (one.offset + max(1, one.bytes) - 1) // REGION_BYTES
        found.update((one.place, region) for region in range(first, last + 1))
    return len(found) * REGION_BYTES


def in_flight(operations: Sequence[TracedOperation]) -> tuple[float, int]:
    """Mean over the busy time, and the 99th percentile over arrivals, of operations in flight. Both at least 1."""
    changes = sorted(
        change for one in operations if one.end_s >= one.at_s for change in ((one.at_s, 1), (one.end_s, -1))
    )
    busy = area = 0.0
    flying, before, seen = 0, 0.0, []
    for at_s, step in changes:
        area += flying * (at_s - before)
        busy += (at_s - before) if flying > 0 else 0.0
        flying, before = max(0, flying + step), at_s
        if step > 0:
            seen.append(flying)
    deepest = sorted(seen)[min(len(seen) - 1, math.ceil(len(seen) * 0.99) - 1)] if seen else 1
    return (max(1.0, area / busy) if busy > 0 else 1.0), max(1, deepest)


def latencies(operations: Sequence[TracedOperation]) -> tuple[float, float] | None:
    """Mean and 99th percentile, seconds; none where no end was seen."""
    found = sorted(one.end_s - one.at_s for one in operations if one.end_s >= one.at_s)
    if not found:
        return None
    return statistics.fmean(found), found[min(len(found) - 1, math.ceil(len(found) * 0.99) - 1)]


def bursts(operations: Sequence[TracedOperation]) -> tuple[float, float]:
    """Squared coefficient of variation of the gaps, and operations in a group that begins at one instant (0.5 ms)."""
    times = sorted(one.at_s for one in operations)
    if len(times) < 3:
        return 1.0, 1.0
    gaps = [later - sooner for sooner, later in pairwise(times)]
    mean = statistics.fmean(gaps)
    groups = 1 + sum(gap > _SAME_INSTANT_S for gap in gaps)
    return (statistics.pvariance(gaps) / mean**2 if mean > 0 else 0.0), len(times) / groups


_WEIGHTS = 1_000_000
_LARGEST_BYTES = 16 << 20


def powers_of_two(sizes: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """A mix of sizes as one of powers of two with as many operations and bytes: what a load generator can lay side by
    side. A size between two powers is a part of both. Weights are millionths."""
    total = sum(count for _, count in sizes)
    found: Counter[int] = Counter()
    for size, count in sizes:
        lower = min(_LARGEST_BYTES, 1 << (size.bit_length() - 1))
        upper_share = min(1.0, (size - lower) / lower)
        weight = round(count / total * _WEIGHTS)
        upper = round(weight * upper_share)
        found[lower] += weight - upper
        found[min(_LARGEST_BYTES, lower * 2)] += upper
    kept = sorted((size, weight) for size, weight in found.items() if weight > 0)
    return [(kept[0][0], 1)] if len(kept) == 1 else kept


def size_mix(sizes: Sequence[int], most: int = 8) -> tuple[tuple[int, int], ...]:
    """Sizes with the number of operations of each; rare ones are joined at their mean, so that bytes stay right.

    All are multiples of 4096, or of 512 where an operation was none of 4096.
    """
    grid = 4096 if all(size % 4096 == 0 for size in sizes) else 512
    counted = Counter(max(grid, -(-size // grid) * grid) for size in sizes)
    common = counted.most_common()
    kept, rest = (common[: most - 1], common[most - 1 :]) if len(common) > most else (common, [])
    found = Counter(dict(kept))
    if rest:
        count = sum(number for _, number in rest)
        mean = sum(size * number for size, number in rest) / count
        found[max(grid, round(mean / grid) * grid)] += count
    return tuple(sorted(found.items()))
