"""One figure over many result folders: a point for each folder, and where the level changed."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from assay.compare import blocks, change, metric
from assay.compare.change import FigureChange
from assay.compare.error import CompareError
from assay.compare.pair import against, begun
from assay.compare.side import opened
from assay.error import did_you_mean
from assay.results import group, labels, row
from assay.results.folder import Folder
from assay.results.group import Point
from assay.results.row import Row
from assay.untyped import Json

OVER = ("date", "commit", "firmware")
_COMMIT = re.compile(r"(?<![0-9a-f])[0-9a-f]{7,40}(?![0-9a-f])")


@dataclass(frozen=True)
class HistoryStep:
    """One folder of a series: its place in the order, what names it there, and the figure over its valid repeats."""

    name: str
    directory: Path
    begun: float
    point: Point


@dataclass(frozen=True)
class Series:
    """A class of a cell over folders. `likeness`: lag-1 correlation of what is left after the changes."""

    cell: str
    class_name: str
    metric: str
    steps: tuple[HistoryStep, ...]
    changes: tuple[FigureChange, ...]
    likeness: float

    @property
    def name(self) -> str:
        """Cell, class and metric."""
        return f"{self.cell}, {self.class_name}, {row.metric_title(self.metric)}"

    @property
    def modelled(self) -> bool:
        """Whether any point is no measurement."""
        return any(step.point.provenance != "measured" for step in self.steps)

    def document(self) -> Json:
        """As `--json` prints it."""
        return {
            "cell": self.cell,
            "class": self.class_name,
            "metric": self.metric,
            "unit": row.unit(self.metric),
            "less_is_better": row.is_cost(self.metric),
            "likeness_of_neighbours": self.likeness,
            "points": [_point(step) for step in self.steps],
            "changes": [self._change(one) for one in self.changes],
            "sentences": sentences(self),
        }

    def _change(self, one: FigureChange) -> Json:
        return {
            "before": self.steps[one.at].name,
            "between": [self.steps[max(0, one.first - 1)].name, self.steps[one.last].name],
            "ratio": math.exp(one.shift),
            "low": math.exp(one.low),
            "high": math.exp(one.high),
            "p": one.p,
        }


def _point(step: HistoryStep) -> Json:
    interval = step.point.interval
    return {
        "at": step.name,
        "directory": str(step.directory),
        "value": step.point.value,
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        "interval": interval.kind if interval else "",
        "runs": len(step.point.rows),
        "verdict": step.point.status,
        "provenance": step.point.provenance,
    }


@dataclass(frozen=True)
class History:
    """All series of one metric, and what could not take part."""

    metric: str
    over: str
    series: tuple[Series, ...]
    problems: tuple[str, ...]

    def document(self) -> Json:
        """As `--json` prints it."""
        return {
            "version": 1,
            "metric": self.metric,
            "over": self.over,
            "series": [one.document() for one in self.series],
            "problems": list(self.problems),
        }


def read(directories: Sequence[Path], name: str, over: str) -> History:
    """Series of a metric over folders, ordered by date, by firmware, or (commits) as they were typed."""
    if over not in OVER:
        raise CompareError(f"`--over {over}` is not known", did_you_mean(over, OVER))
    wanted = metric.canonical([name])[0]
    folders = [opened(directory) for directory in directories]
    names = _names(folders, over)
    found: dict[Hashable, list[HistoryStep]] = {}
    titles: dict[Hashable, tuple[str, str]] = {}
    for each, label in zip(folders, names, strict=True):
        for key, rows in _keyed(each).items():
            step = _step(each, label, rows, wanted)
            if step is not None:
                found.setdefault(key, []).append(step)
                titles.setdefault(key, (_title(rows[0]), rows[0].name))
    series = [_series(*titles[key], wanted, _ordered(steps, over)) for key, steps in found.items()]
    if not series:
        hint = 'name another with --metric; `assay query "describe classes"` shows what there is'
        raise CompareError(f"no folder has a valid value of {wanted}", hint)
    problems = [f"{each.directory}: {problem}" for each in folders for problem in each.problems]
    return History(wanted, over, tuple(series), tuple(problems))


def _keyed(each: Folder) -> dict[Hashable, list[Row]]:
    found: dict[Hashable, list[Row]] = {}
    for one in row.rows(each.cells):
        key = (one.cell.study, one.cell.scenario, row.hashable(one.cell.factors), one.name)
        found.setdefault(key, []).append(one)
    return found


def _step(each: Folder, label: str, rows: Sequence[Row], wanted: str) -> HistoryStep | None:
    point = group.point([one for one in rows if not against(one)], wanted)
    if point is None or point.value <= 0:
        return None
    return HistoryStep(label, each.directory, min(begun(one) for one in rows), point)


def _title(one: Row) -> str:
    said = [f"{labels.dimension(name)} {labels.value(name, value)}" for name, value in one.cell.factors.items()]
    scenario = [one.cell.scenario] if one.cell.scenario != "all" else []
    return ", ".join([*scenario, *said]) or one.cell.study


def _ordered(steps: Sequence[HistoryStep], over: str) -> list[HistoryStep]:
    if over == "commit":
        return list(steps)
    if over == "date":
        return sorted(steps, key=lambda step: step.begun)
    return sorted(steps, key=lambda step: (_natural(step.name), step.begun))


def _natural(text: str) -> tuple[tuple[int, str], ...]:
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", text) if part)


def _names(folders: Sequence[Folder], over: str) -> list[str]:
    """What names each folder along the axis."""
    name = {"date": _date, "commit": _commit, "firmware": _firmware}[over]
    return [name(each) for each in folders]


def _date(each: Folder) -> str:
    starts = [str(cell.record["run"].get("started_at")) for cell in each.measured if cell.record is not None]
    return min(starts, default=each.created_at)[:16].replace("T", " ")


def _commit(each: Folder) -> str:
    """From the label `commit` of the records, else from the folder's name."""
    said = {str((cell.record or {})["job"].get("labels", {}).get("commit", "")) for cell in each.measured} - {""}
    found = said or set(_COMMIT.findall(each.directory.resolve().name))
    if len(found) != 1:
        message = f"{each.directory} does not say which commit it is of"
        raise CompareError(message, "name folders after their commit, seven hexadecimal digits or more, oldest first")
    return found.pop()[:12]


def _firmware(each: Folder) -> str:
    targets = [target for cell in each.measured for target in (cell.record or {})["environment"].get("targets") or ()]
    found = {str((target.get("device") or {}).get("firmware") or "") for target in targets} - {""}
    if len(found) != 1:
        seen = f"names {len(found)}: {', '.join(sorted(found))}" if found else "names none"
        message = f"{each.directory} {seen}, and --over firmware needs one firmware for each folder"
        raise CompareError(message, "use --over date")
    return found.pop()


def _series(cell: str, class_name: str, wanted: str, steps: Sequence[HistoryStep]) -> Series:
    logs = np.log([step.point.value for step in steps])
    found = change.changes([float(value) for value in logs])
    edges = [0, *(one.at for one in found), len(logs)]
    left = np.concatenate([logs[a:b] - np.median(logs[a:b]) for a, b in pairwise(edges)])
    return Series(cell, class_name, wanted, tuple(steps), tuple(found), blocks.likeness(left))


def sentences(series: Series) -> list[str]:
    """What a series says, for people."""
    from assay.compare import words

    count = len(series.steps)
    if count < change.FEWEST:
        return [f"{count} folder{'s' if count > 1 else ''}; a change can be shown from {change.FEWEST} on."]
    found = [_said(series, one, words.change) for one in series.changes]
    found = found or [f"No change beyond chance (5 %) over {count} folders."]
    if series.likeness > 2 / math.sqrt(count):
        found.append(
            f"Neighbouring folders are alike (correlation {series.likeness:.2f}): the machine wanders, and a change "
            "may be no more than that."
        )
    if series.modelled:
        found.append("Not all points are measured: a change of provenance is no change of the machine.")
    return found


def _said(series: Series, one: FigureChange, say: Any) -> str:
    gain = -one.shift if row.is_cost(series.metric) else one.shift
    word = "Better" if gain > 0 else "Worse" if gain < 0 else "Changed"
    first, last = series.steps[max(0, one.first - 1)].name, series.steps[one.last].name
    return (
        f"{word} from {series.steps[one.at].name} on: {say(math.exp(one.shift))} ({say(math.exp(one.low))} to "
        f"{say(math.exp(one.high))}), p = {one.p:.3g}; it lies between {first} and {last}."
    )
