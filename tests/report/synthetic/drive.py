"""A small model of a drive: enough for figures to look like figures."""

from __future__ import annotations

from assay.untyped import Json
from report.synthetic.record import Shape, asked

READ_NS, WRITE_NS, FLUSH_NS = 82_000.0, 21_000.0, 950_000.0
PEAK_OPS, PEAK_BYTES = 640_000.0, 6.4e9

KINDS: dict[str, Json] = {
    "pread": {"kind": "pread", "direct": False},
    "pread+direct": {"kind": "pread", "direct": True},
    "mmap": {"kind": "mmap", "direct": False},
    "libaio+direct": {"kind": "libaio", "direct": True},
    "io_uring": {"kind": "io_uring", "direct": False},
    "io_uring+direct": {"kind": "io_uring", "direct": True},
}
EFFICIENCY = {
    "pread": 0.55,
    "pread+direct": 0.9,
    "mmap": 0.35,
    "libaio+direct": 0.97,
    "io_uring": 0.6,
    "io_uring+direct": 1.0,
}
CYCLES = {
    "pread": 14e3,
    "pread+direct": 9e3,
    "mmap": 21e3,
    "libaio+direct": 7e3,
    "io_uring": 11e3,
    "io_uring+direct": 5e3,
}


def reads(name: str, path: str, size: int, in_flight: int) -> tuple[float, float]:
    """Operations per second and median latency in ns of random reads."""
    alone = (READ_NS + size / 3.2) / EFFICIENCY[path]
    ceiling = min(PEAK_OPS, PEAK_BYTES / size) * EFFICIENCY[path]
    offered = in_flight * 1e9 / alone
    ops = offered / (1 + (offered / ceiling) ** 3) ** (1 / 3)
    return ops, in_flight * 1e9 / ops


def read_shape(name: str, path: str, size: int = 4096, *, threads: int = 1, depth: int = 1, **more: object) -> Shape:
    """A closed class of reads."""
    ops, median = reads(name, path, size, threads * depth)
    pattern = {"kind": str(more.get("pattern", "uniform"))}
    wanted = asked(
        name, path=KINDS[path], size=size, threads=threads, depth=depth, batch=min(depth, 32), pattern=pattern
    )
    return Shape(name, ops, median, wanted, cycles_per_op=CYCLES[path] + size * 0.35)


def log_shape(name: str, path: str, size: int, *, layout: str = "recycled", every: int = 1, threads: int = 1) -> Shape:
    """A closed class of durable, sequential writes."""
    penalty = {"recycled": 1.0, "preallocated": 1.7, "growing": 3.2}[layout]
    flush = FLUSH_NS * penalty
    median = WRITE_NS + size / 2.0 + flush / every
    wanted = asked(
        name,
        path=KINDS[path],
        operation={"kind": "write"},
        pattern={"kind": "sequential"},
        size=size,
        threads=threads,
        durability={"kind": "fdatasync", "every": every},
    )
    ops = threads**0.7 * 1e9 / median
    return Shape(name, ops, median, wanted, flush_ns=flush, cycles_per_op=30e3 / every + 8e3)
