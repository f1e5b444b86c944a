"""The window of a program with a command line of its own: seconds that it prints, and what the kernel counted then.

A line is stamped when it comes, so that time and CPU are ours and only counts are the program's. The first line may
stand for no whole second, so that a window begins one line after its warm-up.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from assay.rivals.published.printed import PrintedSecond, Reading


@dataclass(frozen=True)
class ProcessCount:
    """What the kernel has counted of a process until a moment."""

    at_s: float
    cpu_s: float
    read_bytes: int
    written_bytes: int


@dataclass
class PrintedWindow:
    """What came of a window; `first` and `last` are None as long as it has not begun or ended."""

    seconds: list[PrintedSecond] = field(default_factory=list)
    damaged: int = 0
    first: ProcessCount | None = None
    last: ProcessCount | None = None

    @property
    def done(self) -> int:
        """Operations."""
        return sum(one.done for one in self.seconds)

    @property
    def lasted_s(self) -> float:
        """Between the line before the window and its last one."""
        return self.last.at_s - self.first.at_s if self.first is not None and self.last is not None else 0.0


def watch(
    lines: Iterable[str],
    reader: Callable[[str], Reading],
    before: int,
    wanted: int,
    count: Callable[[], ProcessCount | None],
    edge: Callable[[bool], None] = lambda _: None,
) -> PrintedWindow:
    """Reads lines to their end: the window is `wanted` seconds after `before` others.

    `edge` is told when it begins (True) and when it ends.
    """
    found, seen = PrintedWindow(), 0
    for line in lines:
        one = reader(line)
        if one is None:
            continue
        if not isinstance(one, PrintedSecond):
            found.damaged += 1
            continue
        seen += 1
        if seen == before:
            found.first = count()
            edge(True)
        elif before < seen <= before + wanted:
            found.seconds.append(one)
            if seen == before + wanted:
                found.last = count()
                edge(False)
    return found


def counted(pid: int, root: Path = Path("/proc")) -> ProcessCount | None:
    """What the kernel says of a process; None where it has ended."""
    try:
        stat = (root / str(pid) / "stat").read_text()
        moved = dict(line.split(": ") for line in (root / str(pid) / "io").read_text().splitlines())
    except (OSError, ValueError):
        return None
    # The name, which may hold anything, stands in brackets; user and system time are the 12th and 13th after it.
    words = stat.rpartition(")")[2].split()
    ticks = int(words[11]) + int(words[12])
    moves = int(moved.get("read_bytes", 0)), int(moved.get("write_bytes", 0))
    return ProcessCount(time.monotonic(), ticks / os.sysconf("SC_CLK_TCK"), *moves)
