"""Latencies that operations which never ended may move are lower bounds, and are printed so."""

from typing import Any

import pytest
from assay.report.answer.model import number
from assay.results import group
from assay.results.folder import Cell
from assay.results.row import Row
from assay.untyped import Json


def row(at_least: Json | None) -> Row:
    response: Json = {"mean_ns": 2e6, "p50_ns": 1_000_000, "p99_ns": 400_000_000, "max_ns": 500_000_000}
    result: Any = {"name": "c", "response": response | ({"at_least": at_least} if at_least else {})}
    record: Any = {"verdict": {"status": "suspect", "reasons": []}, "classes": [result], "job": {}}
    cell = Cell("a-0001-r1", "a", "all", 1, {}, "finished", "", "", record)
    return Row(cell, record, result, {})


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        ("response_p50_ns", False),
        ("response_p99_ns", True),
        ("response_max_ns", True),
        ("response_mean_ns", True),
    ],
)
def test_what_lies_below_the_shortest_bound_is_exact(metric: str, said: bool) -> None:
    bounded = row({"count": 3, "from_ns": 300_000_000})
    assert bounded.at_least(metric) == said
    assert not row(None).at_least(metric)
    point = group.point([bounded], metric)
    assert point is not None
    assert number(point).text.startswith("\u2265 ") == said
