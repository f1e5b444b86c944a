"""Repeats of a pass of queries as one record: medians, ends, and all that was found."""

from __future__ import annotations

from typing import cast

from assay.record import WorkRecord
from assay.results.repeats import together
from assay.results.work import Work
from assay.untyped import Json


def one(name: str, seconds: float, *, protocol: str = "cold", passed: bool = True, **told: str) -> Work:
    """A record of one query."""
    figures = {"time_s": {"value": seconds, "unit": "s"}}
    reasons = [] if passed else [{"code": "check-failed"}]
    record: Json = {
        "subject": {"name": "duckdb", "settings": {}},
        "workload": {"name": "tpch", "parameters": {"protocol": protocol, **told}},
        "targets": [{"role": "data", "target": "/a"}],
        "figures": {"sum_s": {"value": seconds, "unit": "s"}},
        "parts": [{"name": "q01", "figures": figures, "succeeded": 1, "failed": 0}],
        "checks": [{"name": "answer-q01", "passed": passed, "evidence": name}],
        "verdict": {"status": "valid" if passed else "invalid", "reasons": reasons},
    }
    return Work(name, cast("WorkRecord", record))


def test_figures_are_medians_and_times_have_their_ends() -> None:
    works = [one("r1", 3.0), one("r2", 1.0, compared_with="/b"), one("r3", 2.0), one("hot", 0.5, protocol="hot")]
    cold, hot = together(works)
    assert hot is works[3]
    assert cold.id == "r2", "the one that says how they compare"
    assert cold.figure("sum_s") == 2.0
    assert [cold.figure(name, "q01") for name in ("time_s", "lowest_s", "highest_s")] == [2.0, 1.0, 3.0]
    assert cold.record["parts"][0]["succeeded"] == 3
    assert works[0].figure("sum_s") == 3.0, "what was read stays as it was"


def test_what_one_of_them_found_stands() -> None:
    (found,) = together([one("r1", 1.0), one("r2", 1.0, passed=False, warmed="9 pages"), one("r3", 1.0)])
    assert found.status == "invalid"
    assert [(check["passed"], check["evidence"]) for check in found.record["checks"]] == [(False, "r2")]


def test_records_of_other_work_stay_apart() -> None:
    works = [one("r1", 1.0), one("r2", 1.0)]
    for work in works:
        work.record["workload"]["name"] = "tpcc"
    assert together(works) == works
