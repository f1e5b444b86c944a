"""The points of the catalog: every twin, arrays of 1 to 24, paths, patterns, sizes, mixes, threads and depths.

The grid is never laid out. A point has a number, and a sample of N takes numbers that lie evenly apart by a step that
shares no factor with the grid's size: no point comes twice, and every axis is met evenly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from assay.target import catalog, names
from assay.twin.predict import BLOCK_PATHS, BLOCKING, MEMORY_PATHS, Point

MEMBERS = tuple(range(1, 25))
SEQUENTIAL = (False, True)
SIZES = tuple(4096 << power for power in range(9))
READ_PERCENT = tuple(range(0, 101, 10))
THREADS = (1, 2, 4, 8, 16, 32, 64, 128)
DEPTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
DRIVE_PATHS = (
    *("pread+direct", "pread+buffered", "mmap", "libaio+direct"),
    *("io_uring+direct", "io_uring+iopoll", "io_uring+buffered", "spdk"),
)
_GOLDEN = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True)
class GridBlock:
    """A twin and a path: the axes that are left, and the number of their first point."""

    twin: str
    path: str
    depths: tuple[int, ...]
    first: int

    @property
    def size(self) -> int:
        """How many points it has."""
        return len(MEMBERS) * len(SEQUENTIAL) * len(SIZES) * len(READ_PERCENT) * len(THREADS) * len(self.depths)

    def point(self, number: int) -> tuple[int, Point]:
        """Members and point with a number of the grid."""
        rest = number - self.first
        axes = (self.depths, THREADS, READ_PERCENT, SIZES, SEQUENTIAL)
        picked = []
        for axis in axes:
            rest, place = divmod(rest, len(axis))
            picked.append(axis[place])
        depth, threads, percent, size, sequential = picked
        members = MEMBERS[rest]
        on = self.twin if members == 1 else f"{self.twin}*{members}"
        return members, Point(
            on, "read", bool(sequential), size, threads, depth, path=self.path, read_percent=float(percent)
        )


@dataclass(frozen=True)
class Grid:
    """All points of these twins."""

    twins: tuple[str, ...]

    @classmethod
    def of_catalog(cls) -> Grid:
        """Every twin of the catalog."""
        return cls(tuple(catalog.twins()))

    @cached_property
    def blocks(self) -> tuple[GridBlock, ...]:
        """In their order."""
        found: list[GridBlock] = []
        for twin in self.twins:
            memory = names.is_memory(names.target(twin))
            keys = MEMORY_PATHS if memory else BLOCK_PATHS
            for path in MEMORY_PATHS if memory else DRIVE_PATHS:
                first = found[-1].first + found[-1].size if found else 0
                found.append(GridBlock(twin, path, (1,) if keys[path] in BLOCKING else DEPTHS, first))
        return tuple(found)

    @property
    def size(self) -> int:
        """Points in all."""
        return self.blocks[-1].first + self.blocks[-1].size if self.blocks else 0

    def sample(self, count: int, begin: int, end: int) -> Iterator[tuple[GridBlock, int, Point]]:
        """Those from `begin` to `end` of a sample of `count`, ordered by twin and path."""
        step = _step(self.size)
        # Even strides keep neighbours in one block; the residue within a stride is spread by the golden step.
        stride, blocks, place = self.size // count, self.blocks, 0
        for index in range(begin, end):
            number = index * stride + (index * step) % max(1, stride)
            while number >= blocks[place].first + blocks[place].size:
                place += 1
            members, point = blocks[place].point(number)
            yield blocks[place], members, point


def _step(size: int) -> int:
    """A step near the golden section of a size, without a common factor."""
    step = max(1, round(size * _GOLDEN))
    while math.gcd(step, size) != 1:
        step += 1
    return step
