"""Two targets side by side: ratios per query, their averages, and whether they differ beyond the repeats' scatter."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.record import WorkRecord
from assay.stats.correction import adjusted
from assay.stats.welch import LEAST, LEVEL, welch
from assay.study.work import figure
from assay.study.work.judge import added, reason

# As the verdict noisy-machine has it.
SPREAD = 0.15


@dataclass(frozen=True)
class QueryContrast:
    """One query, or the whole, on two targets. `p` is corrected by Holm; none where nothing was tested."""

    name: str
    ratio: float
    p: float | None

    @property
    def words(self) -> str:
        """What may be said."""
        if self.p is None:
            return f"{self.ratio:.2f}x the time; not tested: it takes {LEAST} runs on each side"
        if self.p >= LEVEL:
            return f"no difference shown ({self.ratio:.2f}x the time, p = {self.p:.2g})"
        return f"{'slower' if self.ratio > 1 else 'faster'}: {self.ratio:.2f}x the time (p = {self.p:.2g})"


@dataclass(frozen=True)
class Contrast:
    """A target against the first one. Ratios are of times: above 1 it is slower."""

    queries: list[QueryContrast]
    whole: QueryContrast
    sum_ratio: float
    geometric_mean_ratio: float
    mean_speedup: float


Times = Mapping[str, Sequence[float]]


def contrast(first: Times, other: Times) -> Contrast | None:
    """Compares what both have; none where they share no query."""
    names = [name for name in first if name in other and first[name] and other[name]]
    if not names:
        return None
    left = {name: statistics.median(first[name]) for name in names}
    right = {name: statistics.median(other[name]) for name in names}
    ratios = {name: right[name] / left[name] for name in names}
    raw = {name: welch(first[name], other[name]) for name in names}
    tested = [name for name in names if raw[name] is not None]
    corrected = dict(zip(tested, adjusted([raw[name] or 0.0 for name in tested]), strict=True))
    geometric = math.exp(statistics.fmean(math.log(ratio) for ratio in ratios.values()))
    return Contrast(
        queries=[QueryContrast(name, ratios[name], corrected.get(name)) for name in names],
        whole=QueryContrast("all", geometric, welch(_rounds(first, names), _rounds(other, names))),
        sum_ratio=sum(right.values()) / sum(left.values()),
        geometric_mean_ratio=geometric,
        mean_speedup=statistics.fmean(1 / ratio for ratio in ratios.values()),
    )


def _rounds(times: Times, names: Sequence[str]) -> list[float]:
    """The geometric mean over the queries, of each repeat that has all of them."""
    count = min(len(times[name]) for name in names)
    return [math.exp(statistics.fmean(math.log(times[name][n]) for name in names)) for n in range(count)]


def note(records: Sequence[WorkRecord]) -> list[WorkRecord]:
    """Writes into records of one protocol, those of the first target first, what they say together; who changed.

    Repeats that spread are said in each of them, and how a target compares with the first in the last of its own.
    """
    sides: dict[str, list[WorkRecord]] = {}
    for record in records:
        sides.setdefault(_target(record), []).append(record)
    changed = {id(record): record for side in sides.values() for record in _spread(side)}
    first = next(iter(sides.values()), [])
    for side in sides.values():
        found = contrast(_times(first), _times(side)) if side is not first else None
        if found is not None:
            _compare(side[-1], found, first, side)
            changed[id(side[-1])] = side[-1]
    return list(changed.values())


def _target(record: WorkRecord) -> str:
    return next(str(one["target"]) for one in record["targets"] if one["role"] == "data")


def _times(records: Sequence[WorkRecord]) -> dict[str, list[float]]:
    """Seconds of every run, by query."""
    found: dict[str, list[float]] = {}
    for record in records:
        for part in record["parts"]:
            if "time_s" in part["figures"]:
                found.setdefault(str(part["name"]), []).append(float(part["figures"]["time_s"]["value"]))
    return found


def _spread(records: Sequence[WorkRecord]) -> Sequence[WorkRecord]:
    """Says that repeats spread; the records, where they do."""
    times = _times(records)
    spreads = {name: max(one) / min(one) - 1 for name, one in times.items() if len(one) > 1 and min(one) > 0}
    wide = [name for name, spread in spreads.items() if spread > SPREAD]
    if not wide:
        return ()
    worst = max(wide, key=lambda name: spreads[name])
    evidence = f"{len(wide)} of {len(times)} queries spread by over 15 %, {worst} by {spreads[worst]:.0%}"
    found = reason("noisy-machine", "suspect", evidence, "make the machine quiet, or take more repeats")
    for record in records:
        record["verdict"] = added(record["verdict"], found)
    return records


def _compare(record: WorkRecord, found: Contrast, first: Sequence[WorkRecord], side: Sequence[WorkRecord]) -> None:
    record["workload"]["parameters"]["compared_with"] = _target(first[0])
    record["workload"]["parameters"]["compared_in_words"] = _words(found, first, side)
    record["figures"] |= {
        "sum_of_first_ratio": figure(found.sum_ratio, "ratio", method="derived"),
        "geometric_mean_of_first_ratio": figure(found.geometric_mean_ratio, "ratio", method="derived"),
        "mean_speedup_ratio": figure(found.mean_speedup, "ratio", method="derived"),
    }
    lines = {line.name: line for line in found.queries}
    for part in record["parts"]:
        if part["name"] in lines:
            part.setdefault("facts", {})["against_first"] = lines[part["name"]].words


def _words(found: Contrast, first: Sequence[WorkRecord], side: Sequence[WorkRecord]) -> str:
    told = f"against {_target(first[0])}: {found.whole.words}"
    if "no difference" not in told:
        return told
    # Two devices that nobody asked for anything cannot differ: say how much they were used.
    used = [f"{_busy(records)} on {_target(records[0])}" for records in (first, side)]
    return f"{told}; the devices were busy {' and '.join(used)}"


def _busy(records: Sequence[WorkRecord]) -> str:
    shares = [float(one["utilisation"]["value"]) for record in records for one in record["devices"]]
    return f"{max(shares):.0%} of the time" if shares else "an unknown part of the time"
