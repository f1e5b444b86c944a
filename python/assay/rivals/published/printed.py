"""What programs with a command line of their own print: a line a second. Their words are read, not trusted.

LeanStore's table of every second has bars between its columns, vmcache's rows have commas, as runs and their sources
show. A line that begins as one of theirs and is none is damaged, and is counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_MIB = float(1 << 20)


@dataclass(frozen=True)
class PrintedSecond:
    """A second as the program tells it: which one, what was done, what it read and wrote, what it gave up."""

    number: int
    done: int
    read_bytes: float
    written_bytes: float
    given_up: int = 0


DAMAGED = "damaged"
Reading = PrintedSecond | str | None
"""A line: a second, DAMAGED, or nothing of a table."""


def vmcache(line: str) -> Reading:
    """A row of `ts,tx,rmb,wmb,system,threads,datasize,workload,batch`."""
    words = line.strip().split(",")
    if not words[0].isdecimal() or len(words) == 1:
        return None
    numbers = _numbers(words[:4])
    if len(words) != 9 or numbers is None or words[4] not in ("vmcache", "exmap"):
        return DAMAGED
    number, done, read, written = numbers
    return _second(number, done, read * _MIB, written * _MIB)


def leanstore(line: str) -> Reading:
    """A row of its table: second, its length, millions of transactions, those that it gave up, committed, MiB, ..."""
    if not line.startswith("|"):
        return None
    words = [word.strip() for word in line.strip().strip("|").split("|")]
    if words[0] == "t" or not words[0]:
        return None
    numbers = _numbers([words[place] for place in (0, 2, 3, 5, 6)]) if len(words) == _LEANSTORE_COLUMNS else None
    if numbers is None:
        return DAMAGED
    number, millions, given_up, written, read = numbers
    return _second(number, round(millions * 1e6), read * _MIB, written * _MIB, given_up)


_LEANSTORE_COLUMNS = 15
READERS: dict[str, Callable[[str], Reading]] = {"vmcache": vmcache, "leanstore": leanstore}


def _second(number: float, done: float, read: float, written: float, given_up: float = 0) -> Reading:
    whole = all(one == int(one) for one in (number, done, given_up))
    return PrintedSecond(int(number), int(done), read, written, int(given_up)) if whole else DAMAGED


def _numbers(words: Sequence[str]) -> list[float] | None:
    """Figures of a line; none where one is no number, or cannot be counted."""
    try:
        found = [float(word) for word in words]
    except ValueError:
        return None
    return found if all(math.isfinite(one) and one >= 0 for one in found) else None
