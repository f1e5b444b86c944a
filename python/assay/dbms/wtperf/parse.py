"""What wtperf leaves: test.stat, monitor, monitor.json and the latency files. All may end in the middle of a line.

A line of a latency file gives the upper edge of its bucket: 1 us wide below 1 ms, 1 ms below 1 s, 1 s above; slower
operations than 100 s are counted in no bucket (bench/wtperf/track.c).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

KINDS = ("insert", "modify", "read", "truncate", "update")
TIMED = ("insert", "modify", "read", "update")
_EXECUTED = re.compile(r"^Executed (\d+) (\w+) operations(?: \((\d+)%\) (\d+) ops/sec)?", re.MULTILINE)
_LOAD_TIME = re.compile(r"^Load time: (\d+(?:\.\d+)?)", re.MULTILINE)
_LOAD_RATE = re.compile(r"^load ops/sec: (\d+)", re.MULTILINE)
_COMPLETED = re.compile(r"^Run completed: (\d+(?:\.\d+)?) seconds?", re.MULTILINE)
# No comma stands between the last flag and the first latency, and the header knows two of the four flags.
_MONITOR = re.compile(r"^([A-Z][a-z]{2} \d+ [\d:]+),(\d+),(\d+),(\d+),(\d+),(\d+),((?:[YN],)*[YN]),?(\d+(?:,\d+){11})$")


@dataclass(frozen=True)
class Executed:
    """Operations of a kind; the rate is none for those that wtperf only counts."""

    operations: int
    per_s: float | None


@dataclass(frozen=True)
class Stat:
    """test.stat. `complete` where the run came to its end."""

    executed: dict[str, Executed]
    load_s: float | None
    load_per_s: float | None
    run_s: float | None

    @property
    def complete(self) -> bool:
        """Its last words are there."""
        return self.run_s is not None


@dataclass(frozen=True)
class IntervalLine:
    """One second of a kind of operations; latencies in us."""

    at: str
    kind: str
    per_s: float
    mean_us: float
    min_us: float
    max_us: float


@dataclass(frozen=True)
class Latencies:
    """A latency file: upper edges of buckets, us, and counts. `operations` were done, sampled or not."""

    edges_us: tuple[int, ...] = ()
    counts: tuple[int, ...] = ()
    operations: int = 0
    damaged: int = field(default=0, compare=False)

    @property
    def sampled(self) -> int:
        """Operations that were timed."""
        return sum(self.counts)

    def percentile_us(self, percent: float) -> float | None:
        """The upper edge of the bucket in which the percentile lies; none where nothing was timed."""
        rank = percent / 100 * self.sampled
        seen = 0
        for edge, count in zip(self.edges_us, self.counts, strict=True):
            seen += count
            if count and seen >= rank:
                return float(edge)
        return None

    def mean_us(self) -> float | None:
        """Mean of the buckets' middles."""
        if not self.sampled:
            return None
        pairs = zip(self.edges_us, self.counts, strict=True)
        return sum((edge - width(edge) / 2) * count for edge, count in pairs) / self.sampled

    def plus(self, other: Latencies) -> Latencies:
        """Both together, as of one run."""
        joined: dict[int, int] = {}
        for one in (self, other):
            for edge, count in zip(one.edges_us, one.counts, strict=True):
                joined[edge] = joined.get(edge, 0) + count
        edges = tuple(sorted(joined))
        whole, damaged = self.operations + other.operations, self.damaged + other.damaged
        return Latencies(edges, tuple(joined[edge] for edge in edges), whole, damaged)


def width(edge_us: int) -> int:
    """Width of the bucket that ends at an edge, us."""
    return 1 if edge_us <= 1000 else 1000 if edge_us <= 1_000_000 else 1_000_000


def stat(text: str) -> Stat:
    """Reads test.stat."""
    executed = {
        match[2]: Executed(int(match[1]), float(match[4]) if match[4] is not None else None)
        for match in _EXECUTED.finditer(text)
    }
    return Stat(executed, _number(_LOAD_TIME, text), _number(_LOAD_RATE, text), _number(_COMPLETED, text))


def _number(pattern: re.Pattern[str], text: str) -> float | None:
    found = pattern.search(text)
    return float(found[1]) if found else None


def latencies(text: str) -> Latencies:
    """Reads a latency file; lines that are no line of it are counted as damaged and left out."""
    edges: dict[int, int] = {}
    operations = damaged = 0
    for line in text.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        words = line.split(",")
        if len(words) != 4 or not all(word.isascii() and word.isdigit() for word in words) or int(words[0]) == 0:
            damaged += 1
            continue
        edge, count, _, whole = map(int, words)
        edges[edge] = edges.get(edge, 0) + count
        operations = max(operations, whole)
    ordered = sorted(edges)
    return Latencies(tuple(ordered), tuple(edges[edge] for edge in ordered), operations, damaged)


def monitor_json(text: str) -> list[IntervalLine]:
    """Reads monitor.json: one document a line. A line that was cut off is left out."""
    found: list[IntervalLine] = []
    for line in text.splitlines():
        try:
            document = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(document, dict) and isinstance(document.get("wtperf"), dict):
            found += _points(str(document.get("localTime", "")), document["wtperf"].items())
    return found


def _points(at: str, kinds: Iterable[tuple[str, object]]) -> list[IntervalLine]:
    names = ("ops per sec", "average latency", "min latency", "max latency")
    found = []
    for kind, values in kinds:
        numbers = [values.get(name) for name in names] if isinstance(values, dict) else []
        if len(numbers) == len(names) and all(isinstance(one, int | float) for one in numbers):
            found.append(IntervalLine(at, kind, *map(float, [one for one in numbers if isinstance(one, int | float)])))
    return found


def monitor_csv(text: str) -> list[IntervalLine]:
    """Reads monitor, whose rows lack a comma and whose header lacks two columns. Other lines are left out."""
    found = []
    for line in text.splitlines():
        match = _MONITOR.match(line)
        if match:
            rates = [float(match[place]) for place in (3, 4, 5, 6)]
            found += _rows(match[1], rates, [float(word) for word in match[8].split(",")])
    return found


def _rows(at: str, rates: Sequence[float], times: Sequence[float]) -> list[IntervalLine]:
    return [IntervalLine(at, kind, rates[n], *times[3 * n : 3 * n + 3]) for n, kind in enumerate(TIMED)]
