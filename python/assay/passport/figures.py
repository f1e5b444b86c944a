"""The figures of a passport, found among the rows of any folder by what they did."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from assay.passport.document import PassportFigure
from assay.results import group, histogram, pick, row
from assay.results.row import Row

BLOCK, SCAN, SUSTAINED = 4096, 256 << 10, 1 << 20
# So many operations lie beyond a percentile that is told.
BEYOND = 100
_SHARES = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "p999": 99.9}


@dataclass(frozen=True)
class Question:
    """What is asked of a volume: which rows answer, and in which metrics."""

    id: str
    title: str
    answers: Callable[[Row], bool]
    metrics: tuple[str, ...]


def _reads(one: Row, in_flight: int) -> bool:
    at_random = pick.does(one, "read", "uniform") and pick.size(one) == BLOCK
    return at_random and pick.in_flight(one) == in_flight and one.closed and _direct(one)


def _direct(one: Row) -> bool:
    return pick.direct(one) and pick.cache(one) == "bypassed"


def _commits(one: Row) -> bool:
    durable = dict(pick.durability(one)) == {"kind": "fdatasync", "every": 1}
    alone = pick.in_flight(one) == 1 and pick.size(one) == BLOCK and pick.layout(one) == "written"
    return durable and alone and pick.does(one, "write", "sequential") and not pick.direct(one)


def _scans(one: Row) -> bool:
    return pick.does(one, "read", "sequential") and pick.size(one) == SCAN and pick.in_flight(one) == 8 and _direct(one)


def _mixes(one: Row) -> bool:
    same = pick.write_percent(one) == 30 and pick.size(one) == BLOCK and pick.in_flight(one) == 16
    return same and one.closed and _direct(one)


def sustains(one: Row) -> bool:
    """Whether it writes without a pause."""
    same = pick.does(one, "write", "sequential") and pick.size(one) == SUSTAINED and pick.in_flight(one) == 16
    return same and _direct(one) and pick.layout(one) == "written"


QUESTIONS = (
    Question("read", "one 4 KiB read", lambda one: _reads(one, 1), ("service_p50", "service_p99", "service_p999")),
    Question("reads", "4 KiB reads, 32 in flight", lambda one: _reads(one, 32), ("ops_rate", "service_p99")),
    Question("commit", "durable 4 KiB commits, one thread", _commits, ("ops_rate", "service_p50", "service_p99")),
    Question("scan", "scan, 256 KiB at a time, 8 in flight", _scans, ("bandwidth",)),
    Question("mix", "70 % reads, 30 % writes, 16 in flight", _mixes, ("ops_rate", "read_service_p99")),
    Question("sustained", "writing without a pause, 1 MiB at a time", sustains, ("bandwidth",)),
)


def of(rows: Iterable[Row]) -> list[PassportFigure]:
    """Every figure that the rows hold, in the order of the questions."""
    alone = pick.lone(rows)
    return [figure for question in QUESTIONS for figure in _figures(question, alone)]


def _figures(question: Question, rows: Sequence[Row]) -> Iterator[PassportFigure]:
    answering = [one for one in rows if question.answers(one)]
    for metric in question.metrics:
        found = _figure(question, metric, answering)
        if found is not None:
            yield found


def _figure(question: Question, metric: str, rows: Sequence[Row]) -> PassportFigure | None:
    point = group.point(rows, metric)
    if point is None:
        return None
    value = _together(point.rows, metric) if row.unit(metric) == "ns" else point.value
    if value is None or value <= 0:
        return None
    several = point.interval is not None and len(point.rows) > 1
    return PassportFigure(
        id=f"{question.id}.{metric}",
        title=f"{question.title}, {row.metric_title(metric)}",
        unit=row.unit(metric),
        value=value,
        low=point.interval.low if several and point.interval else None,
        high=point.interval.high if several and point.interval else None,
        runs=len(point.rows),
        less_is_better=row.is_cost(metric),
        verdict=point.status,  # type: ignore[arg-type]
        provenance=point.provenance,  # type: ignore[arg-type]
    )


def _together(rows: Sequence[Row], metric: str) -> float | None:
    """A percentile of all operations of all runs: histograms are merged, percentiles are not."""
    head, _, tail = row.canonical(metric).rpartition("_")
    merged: Any = histogram.merge(one.distribution(head) for one in rows)
    share = _SHARES[tail]
    if merged is None or merged.get_total_count() * (100 - share) / 100 < BEYOND:
        return None
    return float(merged.get_value_at_percentile(share))
