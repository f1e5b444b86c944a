"""Runs of indexes, engines and databases are compared and queried by the same commands as those of I/O."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from assay.compare import metric, side
from assay.compare.comparison import compare
from assay.compare.error import CompareError
from assay.compare.judgement import Rules
from assay.compare.table import entries, trust
from assay.results.store import query
from assay.untyped import Json

EPOCH = datetime(2026, 3, 14, tzinfo=UTC).timestamp()


def record(rate: float, at: float, number: str, subject: str = "assay", settings: Json | None = None) -> Json:
    def figure(value: float, unit: str) -> Json:
        return {"value": value, "unit": unit, "provenance": "measured", "method": "loop"}

    service = {"count": 9000, "p50_ns": 1e9 / rate, "p99_ns": 3e9 / rate, "mean_ns": 1e9 / rate}
    return {
        "version": 1,
        "kind": "engine",
        "run": {"id": number, "started_at": datetime.fromtimestamp(EPOCH + at, UTC).isoformat(), "wall_s": 1.0},
        "subject": {"name": subject, "version": "1", "settings": settings or {}},
        "workload": {"name": "tpcc", "parameters": {"warehouses": 5, "threads": 2, "seed": int(at)}},
        "targets": [{"role": "data", "target": "d", "emulated": False}],
        "durability": "fdatasync",
        "environment": {"host": "a", "targets": []},
        "measured_s": 1.0,
        "figures": {
            "transactions_per_s": figure(rate, "transactions/s"),
            "cycles_per_transaction": figure(1e9 / rate, "cycles"),
        },
        "parts": [
            {
                "name": "new_order",
                "succeeded": 9000,
                "empty": 0,
                "failed": 0,
                "service": service | {"supported_percentile": 99.0},
                "figures": {"transactions_per_s": figure(0.45 * rate, "transactions/s")},
            }
        ],
        "checks": [{"name": "consistency-1", "passed": True, "evidence": "held"}],
        "not_measured": [],
        "devices": [],
        "verdict": {
            "status": "suspect",
            "reasons": [{"code": "cpu-taken", "severity": "suspect", "evidence": "taken", "fix": "stop it"}],
        },
    }


def folder(where: Path, rates: Sequence[float], later: float = 0.0, subject: str = "assay", **settings: Any) -> Path:
    """Runs every ten seconds; those of the other side `later`."""
    (where / "work").mkdir(parents=True, exist_ok=True)
    for index, rate in enumerate(rates):
        number = f"{where.name}{later:g}-{index}"
        made = record(rate, 10.0 * index + later, number, subject, settings)
        (where / "work" / f"{subject}-tpcc-{number}.json").write_text(json.dumps(made))
    return where


def turns(count: int) -> list[float]:
    """Starts of B within the turn of A, before it and after it, as lots would have it."""
    return [(-3.0 if index % 3 == 0 else 3.0) for index in range(count)]


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    a = folder(tmp_path / "a", [1000, 1010, 990, 1005, 1001, 995, 1003, 998, 1002], subject="assay")
    b = tmp_path / "b"
    (b / "work").mkdir(parents=True)
    for index, shift in enumerate(turns(9)):
        made = record(1200 + index, 10.0 * index + shift, f"b-{index}", "postgres")
        (b / "work" / f"postgres-tpcc-{index}.json").write_text(json.dumps(made))
    return a, b


def compared(a: Path, b: Path, *names: str) -> Any:
    return compare(side.read("A", str(a), None), side.read("B", str(b), None), Rules(), metrics=names)


def test_two_engines_are_told_apart_in_the_right_direction(sides: tuple[Path, Path]) -> None:
    found = {entry.line.class_name + " " + entry.line.metric: entry for entry in entries(compared(*sides))}
    assert set(found) == {
        "whole transactions_per_s",
        "whole cycles_per_transaction",
        "new_order transactions_per_s",
        "new_order service_p50",
        "new_order service_p99",
    }
    assert {entry.outcome for entry in found.values()} == {"B better"}
    for entry in found.values():
        assert entry.times == pytest.approx(1.2, rel=0.02)


def test_runs_are_counted_once_however_many_figures_they_have(sides: tuple[Path, Path]) -> None:
    assert trust(compared(*sides)).startswith("0 of 18 runs are valid, 18 suspect (cpu-taken)")


def test_any_figure_of_the_records_may_be_named(sides: tuple[Path, Path]) -> None:
    assert [line.metric for line in compared(*sides, "cycles_per_transaction").lines] == ["cycles_per_transaction"]
    with pytest.raises(CompareError, match="not a metric"):
        compared(*sides, "cycles_per_transactions")


def test_one_cell_is_named_by_its_question_or_by_its_file(sides: tuple[Path, Path]) -> None:
    a, _ = sides
    by_cell = side.read("A", f"{a}/assay-tpcc", None)
    by_file = side.read("A", f"{a}/assay-tpcc-a0-3.json", None)
    assert len(by_cell.runs) == 9
    assert by_cell.runs == by_file.runs
    with pytest.raises(CompareError, match="no cell `assay-tpch`"):
        side.read("A", f"{a}/assay-tpch", None)


def test_settings_that_vary_in_a_folder_are_cells_of_their_own(tmp_path: Path) -> None:
    a = folder(tmp_path / "a", [1000, 1001], pool_bytes=1 << 20)
    folder(a, [2000, 2001], later=500, pool_bytes=1 << 21)
    cells = {one.cell.id for one in side.read("A", str(a), None).rows}
    assert cells == {"assay-tpcc-r1", "assay-tpcc-r2", "assay-tpcc-2-r1", "assay-tpcc-2-r2"}


def test_sizes_that_differ_are_not_compared(tmp_path: Path) -> None:
    a, b = folder(tmp_path / "a", [1000]), folder(tmp_path / "b", [1000])
    path = next((b / "work").iterdir())
    other = json.loads(path.read_text())
    other["workload"]["parameters"]["warehouses"] = 50
    path.write_text(json.dumps(other))
    with pytest.raises(CompareError, match="no cell of A has its like in B"):
        compared(a, b)


def test_sql_reads_them(sides: tuple[Path, Path]) -> None:
    columns, rows = query.run(list(sides), "select subject, count(*), min(rate_per_s) from works group by 1 order by 1")
    assert rows == [("assay", 9, 990.0), ("postgres", 9, 1200.0)], columns
    sql = "select count(*) from work_figures where part = 'new_order' and figure = 'service_p99_ns' and unit = 'ns'"
    assert query.run(list(sides), sql)[1] == [(18,)]
    assert query.run(list(sides), "select distinct code from verdicts")[1] == [("cpu-taken",)]
    assert query.run(list(sides), "select count(*) from classes")[1] == [(0,)]


def test_rates_are_no_times() -> None:
    from assay.results import row

    assert row.unit("transactions_per_s") == "transactions/s"
    assert not row.is_cost("transactions_per_s")
    assert row.is_cost("recovery_s")
    assert row.unit("recovery_s") == "s"
    assert set(metric.OF_WORK) >= {"transactions_per_s", "cycles_per_transaction"}
