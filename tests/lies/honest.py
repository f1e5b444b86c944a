"""Cells on honest targets, and what the machine itself shows meanwhile."""

from __future__ import annotations

import hashlib
import itertools
import os
import resource
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from assay.untyped import Json
from e2e import program
from e2e.jobs import KIB, MIB, dataset, fixed, job, klass, writes

PATHS = {
    "null": ("null",),
    "tmpfs": ("pread", "io_uring", "mmap"),
    "disk": ("pread+direct", "libaio+direct", "io_uring+direct"),
}
WINDOW_S = 1.2


@dataclass(frozen=True)
class Cell:
    """One honest question."""

    target: str
    path: str
    kind: str
    depth: int
    size: int
    rate: bool

    @property
    def name(self) -> str:
        """For messages."""
        arrivals = "rate" if self.rate else "closed"
        return f"{self.target} {self.path} {self.kind} depth {self.depth} {self.size // KIB} KiB {arrivals}"

    def job(self, folder: Path) -> Json:
        """The job; `folder` lies on the target."""
        more: dict[str, Any] = {"depth": self.depth, "size": self.size}
        if self.rate:
            more["arrivals"] = fixed(300)
        if self.kind == "commit":
            more["durability"] = {"kind": "fdatasync"}
        one = klass(path=self.path, **more) if self.kind == "read" else writes(path=self.path, **more)
        target: Json | Path = {"id": "main", "kind": "null"} if self.target == "null" else folder
        # In memory it is memory that shall be measured; on a disk no cache.
        cache = {"tmpfs": "warm", "disk": "bypassed", "null": "as-found"}[self.target]
        bytes_ = 64 * MIB if self.target == "disk" else 32 * MIB
        return job(
            target, one, datasets=[dataset(size=bytes_)], cache=cache, measure_s=WINDOW_S, window={"warmup_s": 0.2}
        )


def cells() -> list[Cell]:
    """All of them, in an order that does not change, each sort spread over the whole list."""
    found = [
        Cell(target, path, kind, depth, size, rate)
        for target, paths in PATHS.items()
        for path, kind, depth, size, rate in itertools.product(
            paths, ("read", "write", "commit"), (1, 8), (4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB), (False, True)
        )
        if _makes_sense(target, path, kind, depth, rate)
    ]
    mixed = sorted(found, key=lambda cell: hashlib.sha256(cell.name.encode()).digest())
    in_turn = itertools.zip_longest(*([cell for cell in mixed if cell.target == target] for target in PATHS))
    return [cell for turn in in_turn for cell in turn if cell is not None]


def _makes_sense(target: str, path: str, kind: str, depth: int, rate: bool) -> bool:
    """Paths that block know depth 1; nothing is durable in memory; the null path has only reads worth asking for.

    Through a mapping, a slow rate touches pages for the first time until the window ends: that is not steady.
    """
    queued = path.startswith(("io_uring+", "libaio+"))
    durable = target == "disk" and path != "mmap"
    touched = path != "mmap" or not rate
    return touched and (depth == 1 or queued) and (kind != "commit" or durable) and (target != "null" or kind == "read")


@dataclass(frozen=True)
class Reading:
    """The machine at one moment, as it shows itself: Assay's counters have no part in it."""

    at: float
    busy_s: float
    stolen_s: float
    disk_bytes: float
    own_cpu_s: float
    own_bytes: float
    loop_s: float
    """A loop of Python's, which takes as many cycles each time; the quickest of several."""

    @classmethod
    def now(cls, disk: Path) -> Reading:
        """Reads it; `disk` is a `stat` file. Our own are this process and the children that have ended."""
        tick = os.sysconf("SC_CLK_TCK")
        fields = [int(word) / tick for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
        user, nice, system, _idle, _wait, interrupts, soft, stolen = fields
        moved = [int(word) for word in disk.read_text().split()]
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return cls(
            at=time.monotonic(),
            busy_s=user + nice + system + interrupts + soft,
            stolen_s=stolen,
            disk_bytes=(moved[2] + moved[6]) * 512.0,
            own_cpu_s=sum(one.ru_utime + one.ru_stime for one in used),
            own_bytes=sum(one.ru_inblock + one.ru_oublock for one in used) * 512.0,
            loop_s=min(_loop_s() for _ in range(20)),
        )


def _loop_s() -> float:
    begin = time.perf_counter()
    sum(range(20_000))
    return time.perf_counter() - begin


@dataclass(frozen=True)
class Look:
    """What a thread of this process sees at one moment, some fifty times a second."""

    at: float
    requests: int
    """Completed by the disk, ever."""
    served_ms: int
    """Time that they took, in sum."""
    in_flight_ms: int
    """Time of the disk, times requests in flight."""
    copy_s: float
    """A copy from memory to memory, as long each time."""
    stall_s: float
    """The longest time between two readings of the clock, in some."""


@dataclass
class Watch:
    """Looks at the disk's requests, by the kernel's count, and at the pace of memory and CPU, while a cell runs."""

    disk: Path
    seen: list[Look] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        source, into = bytearray(COPIED), bytearray(COPIED)
        while not self._over.wait(LOOK_S):
            words = [int(word) for word in self.disk.read_text().split()]
            begin = time.perf_counter()
            into[:] = source
            copied = time.perf_counter() - begin
            one = Look(
                time.monotonic(), words[0] + words[4], words[3] + words[7], words[10], copied, longest_stall_s(SPUN_S)
            )
            self.seen.append(one)

    def spread(self) -> float:
        """How far the best and the worst fifth of the window are apart in requests, as a share of the mean."""
        return spread([(one.at, one.requests) for one in self.seen], WINDOW_S)

    def spread_of_service(self) -> float:
        """The same of the time that a request of the disk took, over each fifth: the kernel tells milliseconds."""
        over = end_of([(one.at, one.requests) for one in self.seen])
        edges = [over - WINDOW_S * (1 - part / 5) for part in range(6)]
        looks = [min(self.seen, key=lambda one: abs(one.at - edge)) for edge in edges] if self.seen else []
        took = [
            (after.served_ms - before.served_ms) / max(after.requests - before.requests, 1)
            for before, after in itertools.pairwise(looks)
        ]
        mean = sum(took) / max(len(took), 1)
        return (max(took) - min(took)) / mean if mean else 0.0

    def spread_of_copies(self) -> float:
        """The same of the time that a copy took, in the window: the last that a run does, but for its record."""
        over = self.seen[-1].at - WINDOW_S if self.seen else 0.0
        return spread_of([(one.at, one.copy_s) for one in self.seen if one.at >= over])

    def in_flight(self) -> float:
        """Requests of the disk in flight while it had any: the median over quarters of a second."""
        step = round(0.25 / LOOK_S)
        pairs = zip(self.seen, self.seen[step:], strict=False)
        means = sorted(
            (b.in_flight_ms - a.in_flight_ms) / 1e3 / (b.at - a.at) for a, b in pairs if b.requests > a.requests
        )
        return means[len(means) // 2] if means else 0.0

    def stalled(self, least_s: float) -> float:
        """Share of the time in which a loop that only reads the clock stood still for so long."""
        times = [one.stall_s for one in self.seen if one.stall_s >= least_s]
        return sum(times) / (len(self.seen) * SPUN_S) if self.seen else 0.0


def longest_stall_s(spun_s: float) -> float:
    """The longest time between two readings of the clock."""
    begin = before = time.perf_counter()
    longest = 0.0
    while before - begin < spun_s:
        now = time.perf_counter()
        longest, before = max(longest, now - before), now
    return longest


def spread_of(seen: Sequence[tuple[float, float]]) -> float:
    """Of values at moments: the medians of fifths of the time, the largest less the least, as a share of their mean."""
    if len(seen) < 10:
        return 0.0
    first, last = seen[0][0], seen[-1][0]
    fifths: list[list[float]] = [[] for _ in range(5)]
    for at, value in seen:
        fifths[min(int((at - first) / (last - first) * 5), 4)].append(value)
    medians = [sorted(part)[len(part) // 2] for part in fifths if part]
    mean = sum(medians) / len(medians)
    return (max(medians) - min(medians)) / mean if mean else 0.0


def spread(seen: Sequence[tuple[float, int]], window_s: float) -> float:
    """Of completions `seen` at moments, in the window that ended with the last of them that moved the disk."""
    steps = _steps(seen)
    end = end_of(seen)
    fifths = [0] * 5
    for at, number in steps:
        place = int((at - (end - window_s)) / window_s * 5 - 1e-9)
        if end - window_s < at <= end:
            fifths[min(place, 4)] += number
    mean = sum(fifths) / 5
    return (max(fifths) - min(fifths)) / mean if mean else 0.0


def _steps(seen: Sequence[tuple[float, int]]) -> list[tuple[float, int]]:
    return [(after[0], after[1] - before[1]) for before, after in itertools.pairwise(seen)]


def end_of(seen: Sequence[tuple[float, int]]) -> float:
    """When the window ended of which completions were `seen`: the last moment that moved the disk as most did.

    What moves it afterwards (a folder that is removed) is less than a twentieth of what the window did.
    """
    steps = _steps(seen)
    usual = sorted(number for _, number in steps)[len(steps) * 9 // 10] if steps else 0
    return max((at for at, number in steps if number > usual / 20), default=seen[-1][0] if seen else 0.0)


@dataclass(frozen=True)
class Others:
    """What others did between two readings."""

    cpus: float
    bytes_per_s: float
    stolen_share: float

    @classmethod
    def between(cls, before: Reading, after: Reading) -> Others:
        """The machine's, less our own."""
        seconds = max(after.at - before.at, 1e-9)
        busy = (after.busy_s - before.busy_s) - (after.own_cpu_s - before.own_cpu_s)
        moved = (after.disk_bytes - before.disk_bytes) - (after.own_bytes - before.own_bytes)
        stolen = (after.stolen_s - before.stolen_s) / seconds / (os.cpu_count() or 1)
        return cls(max(busy, 0.0) / seconds, max(moved, 0.0) / seconds, stolen)

    def disturbed(self) -> bool:
        """The machine was not the run's alone."""
        return self.cpus > QUIET_CPUS or self.bytes_per_s > QUIET_BYTES_PER_S or self.stolen_share > QUIET_STOLEN


def stat_of(folder: Path) -> Path:
    """The counters of the whole disk that a folder lies on."""
    number = folder.stat().st_dev
    block = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve()
    return (block.parent if (block / "partition").exists() else block) / "stat"


LOOK_S = 0.02
COPIED = 256 * KIB
SPUN_S = 0.0005
# A second instrument, which looks at other moments, sees that much of what the record says.
SEEN_BY_ANOTHER = 0.5
# From which share of the depth on it counts as reached, by either instrument.
DEPTH_REACHED = 0.8


def confirmed(reason: Mapping[str, Any], cell: Cell, watch: Watch, before: Reading, after: Reading) -> bool:
    """Whether another instrument saw the same: the counters of the disk, a copy, or loops of Python's."""
    numbers = {name: float(value) for name, value in reason.get("numbers", {}).items()}
    code = reason["code"]
    if code in ("not-steady", "steadiness-lost"):
        said = numbers.get("spread_share", step_share(numbers))
        of_disk = watch.spread_of_service() if cell.rate else watch.spread()
        return 0.0 < SEEN_BY_ANOTHER * said <= (of_disk if cell.target == "disk" else watch.spread_of_copies())
    if code == "frequency-changed" and "change_share" in numbers:
        said, seen = numbers["change_share"], before.loop_s / after.loop_s - 1.0
        return said * seen > 0.0 and abs(seen) >= SEEN_BY_ANOTHER * abs(said)
    if code == "depth-not-reached":
        return watch.in_flight() < cell.depth * DEPTH_REACHED
    if code == "generator-late":
        share = 1.0 - numbers["percentile"] / 100.0
        return watch.stalled(SEEN_BY_ANOTHER * numbers["lateness_ns"] * 1e-9) >= SEEN_BY_ANOTHER * share
    return False


def step_share(numbers: Mapping[str, float]) -> float:
    """By how much of the higher level a step lies apart; 0 where the reason names none."""
    before, after = numbers.get("before", 0.0), numbers.get("after", 0.0)
    return abs(after - before) / max(before, after) if max(before, after) > 0.0 else 0.0


# What a machine that is not quiet can really do to a record.
BY_OTHERS = {
    *("cpu-taken", "foreign-load", "not-steady", "steadiness-lost", "generator-late", "generator-bound"),
    *("frequency-changed", "rate-not-reached", "windows-differ", "process-stopped", "depth-not-reached"),
}
QUIET_CPUS, QUIET_BYTES_PER_S, QUIET_STOLEN = 0.15, 2 << 20, 0.02


@dataclass(frozen=True)
class Answer:
    """What Assay said to an honest cell."""

    cell: Cell
    status: str
    false: tuple[str, ...]
    """Reasons that nothing accounts for: code and evidence."""
    excused: tuple[str, ...]
    """Reasons that others on this machine account for, and those that another instrument confirms."""


def ask(cell: Cell, folder: Path, disk: Path) -> Answer:
    """Runs a cell."""
    before = Reading.now(disk)
    with Watch(disk) as watch:
        outcome = program.run(cell.job(folder))
    after = Reading.now(disk)
    others = Others.between(before, after)
    against = [one for one in outcome.reasons() if one["severity"] != "note"]
    excused = {one["code"] for one in against if others.disturbed() and one["code"] in BY_OTHERS}
    excused |= {one["code"] for one in against if confirmed(one, cell, watch, before, after)}
    told = [(one["code"], f"{one['code']}: {one['evidence']}") for one in against]
    return Answer(
        cell,
        outcome.record["verdict"]["status"],
        tuple(text for code, text in told if code not in excused),
        tuple(code for code, _ in told if code in excused),
    )
