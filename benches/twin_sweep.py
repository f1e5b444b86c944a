"""Asks every twin of the catalog for many points and prints what does not look like a device.

    .venv/bin/python benches/twin_sweep.py [--simulate] [NAME ...]

More in flight that gives less, larger operations that give less, mixes outside of their parts, latencies below that of
an idle device; with --simulate also where the two engines differ, how far in the middle, and the worst. NAME may be an
array (`raid5:p4610*4`). Nothing passes or fails.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from assay.binary import Binary
from assay.error import AssayError
from assay.target import catalog, names
from assay.target.host import HostWish
from assay.twin.predict import Point, stream

Json = dict[str, Any]

DEPTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
BLOCK_SIZES = tuple(512 << step for step in range(12))
MEMORY_SIZES = tuple(64 << step for step in range(15))
MEMORY_THREADS = (1, 2, 4, 8, 12, 16, 18, 24, 32, 48, 64)
MIXES = (100, 90, 70, 50, 30, 10, 0)
# What is called a jump: more than this share below the neighbour.
FALL, MIX_FALL, APART = 0.07, 0.12, 0.2
# Of a simulation, and of the analytic question beside it: a drive that was written once, in order.
SECONDS = 0.2
SIMULATED = (
    (4096, 1, 1), (4096, 1, 2), (4096, 1, 32), (4096, 8, 16), (16384, 1, 4), (16384, 1, 8), (16384, 1, 16),
    (16384, 8, 1), (131072, 1, 2), (131072, 1, 8), (131072, 1, 32),
)  # fmt: skip
WORST = 10


@dataclass(frozen=True)
class Ask:
    """A point and its answer."""

    point: Point
    solution: Json

    @property
    def rate(self) -> float:
        return float(self.solution["ops_per_s"])

    @property
    def bandwidth(self) -> float:
        return float(self.solution["bandwidth_bytes_per_s"])

    def __str__(self) -> str:
        point = self.point
        mix = "" if point.read_percent is None else f" {point.read_percent:.0f}% reads"
        how = "seq" if point.sequential else "rnd"
        kind = f"{point.operation}{mix} {how} {point.persist}" if point.read_percent is None else f"{mix} {how}"
        shape = f"{point.size_bytes} B x {point.threads} threads x {point.depth}"
        return f"{point.on}: {kind} {shape}: {self.rate:,.0f}/s, {self.bandwidth / 1e9:.3f} GB/s"


@dataclass
class Apart:
    """How far the engines were apart: logarithms of the ratio, and what was asked."""

    seen: list[tuple[float, str]] = field(default_factory=list)

    def told(self) -> Iterator[str]:
        """The middle, nine of ten, and the worst."""
        if not self.seen:
            return
        ordered = sorted(self.seen)
        middle, most = (math.expm1(ordered[int((len(ordered) - 1) * share)][0]) for share in (0.5, 0.9))
        yield f"engines: {len(ordered)} points, {middle:.1%} apart in the middle, nine of ten within {most:.1%}"
        yield from (line for _, line in reversed(ordered[-WORST:]))


def main() -> int:
    """Prints findings of the twins that the command line names, or of all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--simulate", action="store_true")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    found, apart = 0, Apart()
    for name in given.names or catalog.twins():
        lines = list(findings(name, given.simulate, apart))
        found += len(lines)
        print(f"{name}: {len(lines)} findings", flush=True)
        for line in lines:
            print("  " + line)
    print(f"{found} findings in all")
    for line in apart.told():
        print(line)
    return 0


def findings(name: str, simulate: bool, apart: Apart) -> Iterator[str]:
    """What looks wrong about one twin."""
    on = names.PREFIX + name
    memory = names.is_memory(names.target(on))
    yield from sweep(on, memory)
    yield from mixes(on, memory)
    if simulate and not memory:
        yield from engines(on, apart)


def sweep(on: str, memory: bool) -> Iterator[str]:
    """Sizes and operations in flight."""
    sizes = MEMORY_SIZES if memory else BLOCK_SIZES
    widths = MEMORY_THREADS if memory else DEPTHS
    for base in kinds(on, memory):
        points = [replace(base, size_bytes=size, **width(memory, wide)) for size in sizes for wide in widths]
        grid = dict(zip([(p.size_bytes, max(p.threads, p.depth)) for p in points], ask(points), strict=True))
        for size in sizes:
            row = [grid[size, wide] for wide in widths]
            yield from falls(row, "more in flight gives less", lambda one: one.rate, collapse=memory)
            yield from latencies(row)
        for wide in widths:
            yield from falls([grid[size, wide] for size in sizes], "larger gives less", lambda one: one.bandwidth)
            yield from shrinks([grid[size, wide] for size in sizes])


def kinds(on: str, memory: bool) -> Iterator[Point]:
    """Reads and writes, in order and at random; in memory every way to persist, too."""
    for sequential in (False, True):
        yield Point(on, "read", sequential)
        for persist in ("nt", "clwb", "none") if memory else ("auto",):
            yield Point(on, "write", sequential, persist=persist)


def width(memory: bool, wide: int) -> Json:
    return {"threads": wide} if memory else {"depth": wide, "cores": 64}


def falls(row: list[Ask], what: str, value: Any, collapse: bool = False) -> Iterator[str]:
    """Neighbours of which the second gives clearly less."""
    for one, next_one in pairwise(row):
        share = value(next_one) / value(one)
        if share < 1 - FALL and not (collapse and share > 0.5):
            yield f"{what}: {share:.2f}: {one} -> {next_one}"


def shrinks(row: list[Ask]) -> Iterator[str]:
    """Larger operations of which there are more than of smaller ones."""
    for one, next_one in pairwise(row):
        if next_one.rate > one.rate * (1 + FALL):
            yield f"larger is faster per operation: {next_one.rate / one.rate:.2f}: {one} -> {next_one}"


def latencies(row: list[Ask]) -> Iterator[str]:
    """Latencies below the one of an idle device, percentiles out of order, stations more than busy."""
    idle = row[0].solution["mean_ns"]
    for one in row:
        found = one.solution
        if found["mean_ns"] < 0.97 * idle:
            yield f"latency {found['mean_ns']:.0f} ns below the idle {idle:.0f}: {one}"
        ranks = [found[rank]["mid_ns"] for rank in ("p50", "p99", "p999")]
        if ranks != sorted(ranks) or ranks[1] < found["mean_ns"] * 0.9:
            yield f"percentiles {ranks} with a mean of {found['mean_ns']:.0f}: {one}"


def mixes(on: str, memory: bool) -> Iterator[str]:
    """Mixes below or above both of their parts."""
    for sequential in (False, True):
        for size in (4096, 16384, 131072):
            for wide in (1, 8, 64):
                base = Point(on, "read", sequential, size_bytes=size, persist="nt" if memory else "auto")
                base = replace(base, **width(memory, min(wide, 16) if memory else wide))
                row = ask([replace(base, read_percent=float(share)) for share in MIXES])
                yield from outside(row)


def outside(row: list[Ask]) -> Iterator[str]:
    alone = sorted((row[0].rate, row[-1].rate))
    for share, one in zip(MIXES[1:-1], row[1:-1], strict=True):
        harmonic = 1 / (share / 100 / row[0].rate + (1 - share / 100) / row[-1].rate)
        if one.rate < alone[0] * (1 - MIX_FALL) or one.rate > alone[1] * (1 + MIX_FALL):
            parts = f"parts {row[0].rate:,.0f}, {row[-1].rate:,.0f}"
            yield f"mix {one.rate / harmonic:.2f} of the harmonic mean; {parts}: {one}"


def engines(on: str, apart: Apart) -> Iterator[str]:
    """Where the simulation and the analytic model differ."""
    for base in kinds(on, False):
        short = replace(base, duration_s=SECONDS, cores=64)
        points = [replace(short, size_bytes=s, threads=t, depth=d) for s, t, d in SIMULATED]
        for one in ask(points):
            seen = simulated(one.point)
            if not seen:
                continue
            line = f"analytic over simulated {one.rate / seen:.2f} ({seen:,.0f}/s): {one}"
            apart.seen.append((abs(math.log(one.rate / seen)), line))
            if not 1 - APART < one.rate / seen < 1 / (1 - APART):
                yield line


def ask(points: list[Point]) -> list[Ask]:
    """Analytic answers; all of the same twin."""
    target = names.target(points[0].on)
    memory = names.is_memory(target)
    host = HostWish("", 64.0, None).document(names.family(target)) if not memory else HostWish().document("pmem")
    if not memory:
        host |= {"costs": host["costs"] | {"polled": free(host["costs"]["polled"])}}
    asked = [{"target": 0, "host": 0, "streams": [load(point, memory)]} for point in points]
    document = {"version": catalog.VERSION, "targets": [target], "hosts": [host], "questions": asked}
    answers = Binary.find().document("predict", "-", given=document)["answers"]
    refused = [answer["reason"] for answer in answers if answer["kind"] == "refused"]
    if refused:
        raise AssayError(refused[0])
    return [Ask(point, answer["solution"]["streams"][0]) for point, answer in zip(points, answers, strict=True)]


def load(point: Point, memory: bool) -> Json:
    """A stream; drives by a path that costs nothing, so that only the device is seen."""
    return stream(point if memory else replace(point, path="spdk"), memory)


def free(cost: Json) -> Json:
    """A path of no cost."""
    return {key: parameter | {"value": 0.0} for key, parameter in cost.items()}


def simulated(point: Point) -> float:
    """Operations per second of the same point in virtual time; 0 where it cannot be."""
    target = names.target(point.on)
    host = HostWish("", 64.0, None).document(names.family(target))
    host |= {"costs": host["costs"] | {"polled": free(host["costs"]["polled"])}}
    size = int(min(names.capacity_bytes(target) * 0.95, 1 << 50)) // (1 << 20) * (1 << 20)
    job = {
        "version": 1,
        "name": "sweep",
        "targets": [
            {
                "id": "main",
                "kind": "twin",
                "members": [],
                "twin": {"version": catalog.VERSION, "label": point.on, "target": target, "host": host},
            }
        ],
        "datasets": [{"name": "data", "target": "main", "bytes": size}],
        "classes": [
            {
                "name": "load",
                "dataset": "data",
                "path": {"kind": "nvme_polled", "direct": True},
                "operation": {"kind": point.operation},
                "pattern": {"kind": "sequential" if point.sequential else "uniform"},
                "size": point.size_bytes,
                "threads": point.threads,
                "depth": point.depth,
            }
        ],
        "window": {"measure_s": SECONDS, "interval_ms": 100},
        "cache": "bypassed",
    }
    return run(job)


def run(job: Json) -> float:
    with tempfile.TemporaryFile() as log:
        going = Binary.find().start(job, log)
        last: Json = {}
        for event in going.events():
            last = event
        going.wait()
    if last.get("event") != "finished":
        print(f"  not simulated: {last.get('reason')}", file=sys.stderr)
        return 0.0
    return float(last["record"]["classes"][0]["ops_rate"]["value"])


if __name__ == "__main__":
    raise SystemExit(main())
