"""Results as tables."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from assay.error import AssayError
from assay.results.store import load, merge
from assay.results.store.histogram import merged_summary
from assay.results.store.tables import COLUMNS, TABLES
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st

from .conftest import ROOT, Assay


def distribution(values: list[int]) -> dict[str, Any]:
    histogram = HdrHistogram(1, 3_600_000_000_000, 3)
    for value in values:
        histogram.record_value(value)
    return {
        "count": len(values),
        "min_ns": min(values),
        "mean_ns": sum(values) / len(values),
        "max_ns": max(values),
        "histogram": histogram.encode().decode(),
    }


def exact(values: list[int], share: float) -> int:
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * int(share * 100) // 10000) - 1)]


def test_percentiles_are_never_merged() -> None:
    pick = random.Random(1)  # noqa: S311  Figures that can be repeated.
    fast = [pick.randrange(10_000, 20_000) for _ in range(9_900)]
    slow = [pick.randrange(1_000_000, 2_000_000) for _ in range(100)]
    seen = merged_summary([distribution(fast), distribution(slow)])
    for name, share in (("p50_ns", 50.0), ("p90_ns", 90.0), ("p999_ns", 99.9)):
        assert seen[name] == pytest.approx(exact(fast + slow, share), rel=0.002)
    mean_of_medians = (exact(fast, 50) + exact(slow, 50)) / 2
    assert seen["p50_ns"] < mean_of_medians / 10
    assert (seen["min_ns"], seen["max_ns"], seen["count"]) == (min(fast), max(slow), 10_000)


@given(st.lists(st.lists(st.integers(1, 10**10), min_size=1, max_size=30), min_size=1, max_size=4))
def test_merging_gives_what_one_histogram_of_all_values_would(parts: list[list[int]]) -> None:
    together = [value for part in parts for value in part]
    seen = merged_summary([distribution(part) for part in parts])
    wanted = merged_summary([distribution(together)])
    assert seen == wanted | {"mean_ns": pytest.approx(wanted["mean_ns"])}


def test_a_damaged_histogram_is_a_sentence() -> None:
    with pytest.raises(AssayError) as caught:
        merged_summary([distribution([1, 2]) | {"histogram": "rubbish"}])
    assert "cannot be read" in caught.value.message


def test_every_table_is_written_with_its_declared_columns(assay: Assay) -> None:
    assay.run()
    for name in TABLES:
        schema = pq.read_schema(assay.results / f"{name}.parquet")
        declared = dict(COLUMNS[name])
        assert {column: schema.field(column).type for column in declared} == declared
        factors = set(schema.names) - set(declared)
        assert all(column.startswith("factor_") for column in factors)


def test_every_column_of_every_table_is_documented() -> None:
    text = "\n".join((ROOT / "docs" / name).read_text() for name in ("results.md", "results-work.md"))
    for name, columns in COLUMNS.items():
        section = text.split(f"## {name}\n")[1].split("\n## ")[0]
        documented = expand_names(section)
        assert set(columns) == documented, f"{name}: {set(columns) ^ documented}"


def expand_names(section: str) -> set[str]:
    """Names in the first cell of each row; `{a,b}_c` stands for `a_c` and `b_c`."""
    found: set[str] = set()
    for cell in re.findall(r"^\| (.+?) \|", section, re.MULTILINE):
        for name in re.findall(r"`([^`]+)`", cell):
            found |= set(braces(name))
    return {name for name in found if not name.startswith("factor_")}


def braces(name: str) -> list[str]:
    match = re.search(r"\{([^{}]*)\}", name)
    if match is None:
        return [name]
    return [one for word in match[1].split(",") for one in braces(name[: match.start()] + word + name[match.end() :])]


def test_values_reach_the_tables(assay: Assay) -> None:
    assay.run()
    rows = load(assay.results).tables
    first = rows["classes"][0]
    assert (first["threads"], first["size_bytes"], first["path"], first["cache"]) == (1, 4096.0, "pread", "as-found")
    assert first["bandwidth_bytes_per_s"] == pytest.approx(4096e3)
    assert len(rows["intervals"]) == 40
    assert rows["intervals"][0]["ops_per_s"] == pytest.approx(1000)
    assert rows["cells"][0]["repeats"] == 2
    assert rows["cells"][0]["service_count"] == 400


def test_refused_cells_stand_in_not_measured(assay: Assay) -> None:
    assay.behave(**{"threads=1": "refuse"})
    assay.run()
    found = [row for row in load(assay.results).tables["not_measured"] if row["state"] == "refused"]
    assert [(row["cell"], row["fix"]) for row in found] == [
        ("small-0001-r1", "Do something else."),
        ("small-0001-r2", "Do something else."),
    ]


def test_tables_are_written_anew_after_a_kill(assay: Assay) -> None:
    assay.run()
    (assay.results / "classes.parquet").unlink()
    done = assay("query", "select count(*) as n from classes", "--in", str(assay.results), "--json")
    assert json.loads(done.stdout) == [{"n": 4}]


def test_several_results_are_queried_together(assay: Assay, tmp_path: Path) -> None:
    assay.run()
    other = tmp_path / "other"
    assay("run", str(assay.study()), "--on", str(assay.target), "--out", str(other), "--set", "threads=8")
    sql = "select result, count(*) as n from classes group by 1 order by 1"
    done = assay("query", sql, "--in", str(assay.results), "--in", str(other), "--json")
    assert json.loads(done.stdout) == [{"result": "other", "n": 2}, {"result": "results", "n": 4}]


def row(cell: str, scenario: str, name: str, rate: float, p99: int) -> dict[str, Any]:
    empty = {f"response_{column}": None for column in ("p50_ns", "p99_ns")}
    service = {"service_p50_ns": p99 // 2, "service_p99_ns": p99}
    head = {"cell": cell, "study": "s", "scenario": scenario, "class": name, "factor_x": "1"}
    return head | {"ops_per_s": rate, "objective_met": None} | empty | service


def test_interference_compares_each_class_with_itself_alone() -> None:
    cells = [
        row("s-1", "alone:a", "a", 100.0, 10),
        row("s-2", "alone:b", "b", 50.0, 20),
        row("s-3", "all", "a", 25.0, 40),
        row("s-3", "all", "b", 50.0, 20),
    ]
    found = {(one["class"], one["beside"]): one for one in merge.interference_rows(cells)}
    assert (found["a", "b"]["ops_ratio"], found["a", "b"]["p99_ratio"]) == (0.25, 4.0)
    assert (found["b", "a"]["ops_ratio"], found["b", "a"]["p99_ratio"]) == (1.0, 1.0)
