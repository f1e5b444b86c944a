"""PostgreSQL as an engine: times of nodes, and data in its own buffer."""

from collections.abc import Callable
from pathlib import Path

import pytest
from assay.dbms.postgres import find
from assay.dbms.tpch import data
from assay.dbms.tpch.order import HOT_BUFFERS
from assay.dbms.tpch.postgres import own_times
from assay.error import AssayError
from assay.study.run import Summary
from assay.study.work import load


def test_time_of_a_node_is_without_that_of_the_nodes_below() -> None:
    scan = {"Node Type": "Seq Scan", "Relation Name": "lineitem", "Actual Total Time": 30.0, "Actual Loops": 3}
    partial = {"Node Type": "Aggregate", "Actual Total Time": 40.0, "Actual Loops": 3, "Plans": [scan]}
    gather = {"Node Type": "Gather", "Actual Total Time": 45.0, "Actual Loops": 1, "Workers Launched": 2}
    found = {name: ms for ms, name in own_times({**gather, "Plans": [partial]}, 1)}
    assert found == {"Gather": 5.0, "Aggregate": 10.0, "Seq Scan lineitem": 30.0}


def test_loops_of_an_inner_side_are_added_up() -> None:
    outer = {"Node Type": "Seq Scan", "Relation Name": "part", "Actual Total Time": 10.0, "Actual Loops": 1}
    inner = {"Node Type": "Index Scan", "Relation Name": "lineitem", "Actual Total Time": 0.5, "Actual Loops": 100}
    node = {"Node Type": "Nested Loop", "Actual Total Time": 65.0, "Actual Loops": 1, "Plans": [outer, inner]}
    assert {name: ms for ms, name in own_times(node, 1)}["Index Scan lineitem"] == 50.0


@pytest.mark.usefixtures("assayer")
def test_data_in_its_own_buffer_are_read_from_no_device(
    open_target: Path, tmp_path: Path, tpch: Callable[..., Summary]
) -> None:
    try:
        find()
    except AssayError as error:
        pytest.skip(f"{error.message}; {error.hint}")
    target = open_target
    files = data.generate(tmp_path / "text", 0.01).folder
    table = {"engine": "postgres", "scale": "0.01", "freeze_costs": True, "queries": "1,6", "data_in": str(files)}
    summary = tpch(table, [HOT_BUFFERS], [str(target)], tmp_path / "out")
    assert summary.exit_code == 0, summary.not_measured
    (record,) = load(tmp_path / "out")
    assert record["subject"]["settings"]["frozen_costs"] is True
    assert record["subject"]["settings"]["fsync"] == "on"
    if "warmed" not in record["workload"]["parameters"]:
        pytest.skip("this PostgreSQL has no pg_prewarm")
    assert all(part["figures"]["engine_read_bytes"]["value"] == 0 for part in record["parts"])
    assert list(target.iterdir()) == []
