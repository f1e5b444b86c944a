"""All that rules look at: the rows of a folder's records, and its records of indexes, engines and databases."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from assay.results import folder, group, labels, pick, row
from assay.results.folder import Folder
from assay.results.group import Point
from assay.results.row import Row
from assay.results.work import Work

_ALIKE = ("study", "on", "scenario", "class", "operation", "pattern", "size", "threads", "depth")


@dataclass(frozen=True)
class RuleFacts:
    """Records of one folder."""

    folder: Folder

    @cached_property
    def rows(self) -> list[Row]:
        """Every class of every record."""
        return row.rows(self.folder.cells)

    @cached_property
    def lone(self) -> list[Row]:
        """Classes that had a real target for themselves."""
        return pick.lone(self.rows)

    @property
    def works(self) -> Sequence[Work]:
        """Records of indexes, engines and databases."""
        return self.folder.works

    @cached_property
    def place(self) -> str:
        """Where the records were taken, as `--on` wants it; empty where they do not say."""
        for one in self.rows:
            if pick.lone([one]) or len(one.record["classes"]) > 1:
                label = str((one.record["job"].get("labels") or {}).get("on") or one.dimension("on") or "")
                if label:
                    return label
        return ""


def read(directory: Path) -> RuleFacts:
    """Facts of a result folder."""
    return RuleFacts(folder.read(directory))


def pairs(
    worse: Sequence[Row], better: Sequence[Row], metric: str, alike: Sequence[str] = _ALIKE
) -> Iterator[tuple[Point, Point]]:
    """Points of both sides that are alike in everything but what the rule is about; the worse side first."""
    first, second = group.by(worse, alike), group.by(better, alike)
    for key, rows in first.items():
        if key in second:
            points = group.point(rows, metric), group.point(second[key], metric)
            if points[0] is not None and points[1] is not None and points[0].value > 0 and points[1].value > 0:
                yield points[0], points[1]


def without(*names: str) -> tuple[str, ...]:
    """What must be alike, but for these."""
    return tuple(name for name in _ALIKE if name not in names)


def of_path(one: Row) -> str:
    """Kind of the path."""
    return str((one.asked.get("path") or {}).get("kind") or "")


def sizes(one: Row) -> str:
    """Size of its operations, or the mix of sizes, in words."""
    return labels.sizes(one.asked.get("size"))


def where(rows: Sequence[Row], wanted: Callable[[Row], bool]) -> list[Row]:
    """Rows that are wanted; invalid ones only where no other is left."""
    found = [one for one in rows if wanted(one)]
    return [one for one in found if one.status != "invalid"] or found


def ids(*points: Point) -> tuple[str, ...]:
    """Records behind points."""
    return tuple(dict.fromkeys(one.cell.id for point in points for one in point.rows))
