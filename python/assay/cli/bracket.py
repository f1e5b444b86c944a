"""What a drive that is played too late, and the same drive slowed down, say together.

Late answers make a drive seem slower than it is, so that a rate measured there is too low. Where its time is stretched
the drive is right, and the CPU seems faster than it is beside it: the rate, in the drive's time, is too high.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from assay.results.work import Work
from assay.units import show

# How near its data lay, which makes other work of it.
_NEAR = ("protocol", "page_cache")
SLOWED = re.compile(r"(?<=mount:)slow=(?P<slow>[0-9.]+):")


@dataclass(frozen=True)
class Bracket:
    """Two rates, a second of the drive's time, between which the truth lies."""

    what: str
    figure: str
    late: float
    """On the drive as fast as this machine plays it."""
    slowed: float
    """On the drive slowed down, times that."""
    slow: float
    too_late: bool = False
    """Slowed down it was late, too, so that the upper end is too low."""

    @property
    def sentence(self) -> str:
        """As it is told."""
        late, slowed = (f"{show.count(value)}/s" for value in (self.late, self.slowed))
        times = f"{self.slow:g} times"
        if self.late > self.slowed:
            why = "which only noise can do: no bracket; repeat the run (--repeats 3)"
            return f"{self.what}: {late} played late is more than {slowed} of the drive slowed {times}, {why}"
        doubt = "; that one was late, too, and its end may lie higher" if self.too_late else ""
        return f"{self.what}: between {late} (played late) and {slowed} (slowed {times}, in the drive's time{doubt})"


def slowed(name: str, slow: float) -> str:
    """The name of the same drive slowed down: `mount:slow=8:twin:gp3` of `mount:twin:gp3`."""
    return name.replace("mount:", f"mount:slow={slow:g}:", 1)


def found(works: Iterable[Work]) -> Iterator[Bracket]:
    """A bracket for each drive that did the same work as it is and slowed down, over the medians of repeats."""
    rates: dict[tuple[str, str, str], dict[float, list[float]]] = {}
    late = set()
    for work in works:
        match = SLOWED.search(work.on)
        if work.rate is None or "mount:" not in work.on:
            continue
        near = [str(work.parameters[name]) for name in _NEAR if name in work.parameters]
        key = (" ".join([work.subject, work.workload, *near]), SLOWED.sub("", work.on), work.rate[0])
        slow = float(match["slow"]) if match else 1.0
        rates.setdefault(key, {}).setdefault(slow, []).append(work.rate[1])
        if any(reason["code"] == "played-late" for reason in work.record["verdict"]["reasons"]):
            late.add((key, slow))
    for key, by_slow in rates.items():
        if 1.0 in by_slow and len(by_slow) > 1:
            (what, on, figure), slow = key, max(by_slow)
            ends = statistics.median(by_slow[1.0]), statistics.median(by_slow[slow]) * slow
            yield Bracket(f"{what} on {on}, {figure}", figure, *ends, slow, (key, slow) in late)
