"""Repeats of one cell taken together: a value, how sure it is, and what stands against it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

from assay.results import labels, row
from assay.results.interval import Interval, over_runs, over_runs_above
from assay.results.row import Row


@dataclass(frozen=True)
class Point:
    """One figure over all repeats of a cell."""

    value: float
    rows: tuple[Row, ...]
    metric: str

    @cached_property
    def interval(self) -> Interval | None:
        """How sure the value is; reckoned when it is asked for, as of most points of a search nobody asks."""
        if len(self.rows) == 1:
            return self.rows[0].interval(self.metric)
        values = [value for one in self.rows if (value := one.metric(self.metric)) is not None]
        return _over(self.rows, self.metric, values)

    @property
    def anchor(self) -> str:
        """Record that the figure links to: the run in the middle."""
        return min(self.rows, key=lambda one: abs((one.metric(self.metric) or 0.0) - self.value)).anchor

    @property
    def status(self) -> str:
        """Gravest verdict among the runs."""
        return labels.worst([one.status for one in self.rows])

    @property
    def provenance(self) -> str:
        """Where the figure came from."""
        return self.rows[0].provenance

    @property
    def weak(self) -> bool:
        """A percentile with fewer than 100 values beyond it, in any of the runs."""
        return not all(one.supported(self.metric) for one in self.rows)

    @property
    def at_least(self) -> bool:
        """A lower bound, in any of the runs."""
        return any(one.at_least(self.metric) for one in self.rows)

    @property
    def method(self) -> str:
        """Instrument that gave it."""
        return self.rows[0].method(self.metric)


def point(rows: Iterable[Row], metric: str) -> Point | None:
    """The median over repeats, without invalid runs where others are left. None where nothing was measured."""
    having = [one for one in rows if one.metric(metric) is not None]
    usable = tuple(one for one in having if one.status != "invalid") or tuple(having)
    if not usable:
        return None
    values = [value for one in usable if (value := one.metric(metric)) is not None]
    return Point(median(values), usable, row.canonical(metric))


def _over(rows: Sequence[Row], metric: str, values: Sequence[float]) -> Interval | None:
    """Interval over runs; of a percentile, above the median of the same runs."""
    under = row.floor(metric)
    floors = [found for one in rows if under and (found := one.metric(under)) is not None]
    return over_runs_above(values, floors) if len(floors) == len(values) else over_runs(values)


def by(rows: Iterable[Row], dimensions: Sequence[str]) -> dict[tuple[Hashable, ...], list[Row]]:
    """Rows that agree on all of `dimensions`, in order of first appearance."""
    found: dict[tuple[Hashable, ...], list[Row]] = {}
    for one in rows:
        found.setdefault(tuple([one.key(name) for name in dimensions]), []).append(one)
    return found


def ordered(values: Iterable[Hashable]) -> list[Hashable]:
    """Distinct values: numbers by size, anything else in order of first appearance."""
    distinct = list(dict.fromkeys(values))
    numbers = [one for one in distinct if isinstance(one, (int, float)) and not isinstance(one, bool)]
    return [*sorted(numbers)] if len(numbers) == len(distinct) else distinct
