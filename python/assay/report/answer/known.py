"""Where a drive stands among drives that people know: medians of the catalog's twins, computed beforehand."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay import home
from assay.report.answer import commit, latency
from assay.report.answer.model import Number, number
from assay.results import pick
from assay.results.group import Point
from assay.results.row import Row
from assay.units import show

_SIZE = 4096


@dataclass(frozen=True)
class Mark:
    """A line of the scale. `place` is a share of its width; `own` is set for the drive that was measured."""

    name: str
    title: str
    said: str
    place: float
    own: Number | None = None


@dataclass(frozen=True)
class Scale:
    """Drives by one latency, the fastest first; `between` says where the measured one stands."""

    question: str
    noun: str
    marks: tuple[Mark, ...]
    between: str


def scales(rows: Sequence[Row]) -> tuple[Scale, ...]:
    """One for reads and one for commits of 4 KiB; none of what was not measured at that size."""
    asked = (
        ("one 4 KiB read, median", "reads", "read_p50_ns", latency.median(rows)),
        ("one durable 4 KiB write, median", "commits", "commit_p50_ns", commit.median(rows)),
    )
    found = (_scale(*one) for one in asked)
    return tuple(one for one in found if one is not None)


def drives() -> list[dict[str, Any]]:
    """The drives of the file that `tools/known_drives.py` writes."""
    path = home.catalog() / "known" / "drives.json"
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["drives"]
    return found


def _scale(question: str, noun: str, key: str, point: Point | None) -> Scale | None:
    if point is None or pick.size(point.rows[0]) != _SIZE or point.value <= 0:
        return None
    known = sorted(((float(one[key]["value"]), one) for one in drives()), key=lambda pair: pair[0])
    values = [point.value, *(value for value, _ in known)]
    low, high = math.log(min(values)), math.log(max(values))

    def place(value: float) -> float:
        return (math.log(value) - low) / (high - low or 1.0)

    marks = [(value, Mark(one["short"], _title(one, key), show.time(value), place(value))) for value, one in known]
    marks.append((point.value, Mark("this one", "", show.time(point.value), place(point.value), number(point))))
    ordered = tuple(mark for _, mark in sorted(marks, key=lambda pair: pair[0]))
    return Scale(question, noun, ordered, _near(point, known, key) or _between(ordered))


def _near(point: Point, known: Sequence[tuple[float, dict[str, Any]]], key: str) -> str:
    """Drives whose band meets the interval of the figure: it does not tell them apart. Empty where there are none."""
    found = point.interval
    low, high = (found.low, found.high) if found is not None else (point.value, point.value)
    names = [one["short"] for _, one in known if one[key]["low"] <= high and low <= one[key]["high"]]
    if len(names) > 2:
        return f"anywhere from {names[0]} to {names[-1]}"
    return f"near {' and '.join(names)}" if names else ""


def _title(one: dict[str, Any], key: str) -> str:
    band = show.span(one[key]["low"], one[key]["high"], "ns")
    return f"{one['title']}: modelled by twin:{one['twin']}, band {band}"


def _between(marks: Sequence[Mark]) -> str:
    """`between A and B`, `faster than A`, `slower than B`."""
    at = next(index for index, mark in enumerate(marks) if mark.own is not None)
    if at == 0:
        return f"faster than {marks[1].name}"
    if at == len(marks) - 1:
        return f"slower than {marks[-2].name}"
    return f"between {marks[at - 1].name} and {marks[at + 1].name}"
