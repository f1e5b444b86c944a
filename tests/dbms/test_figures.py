"""Figures of databases: what records say is what is drawn."""

import json
from typing import Any

from assay.dbms.tpch import figures
from assay.dbms.wtperf.distribution import distribution
from assay.dbms.wtperf.parse import Latencies

Json = dict[str, Any]


def record(workload: str, target: str, parts: list[Json], figures_: Json | None = None, **parameters: Any) -> Json:
    return {
        "kind": "database",
        "subject": {"name": "duckdb"},
        "workload": {"name": workload, "parameters": parameters},
        "targets": [{"role": "data", "target": target}],
        "figures": figures_ or {},
        "parts": parts,
        "verdict": {"status": "valid"},
    }


def value(number: float, **more: Any) -> Json:
    return {"value": number, "unit": "s", "provenance": "measured", **more}


def drawn(chart: Any) -> list[Json]:
    """Rows that a chart draws, wherever they are kept."""
    document = json.loads(chart.to_json())
    rows = [row for rows in document.get("datasets", {}).values() for row in rows]
    text = json.dumps(document)
    assert "$schema" in text
    return rows or _values(document)


def _values(node: Any) -> list[Json]:
    if isinstance(node, list):
        return [row for one in node for row in _values(one)]
    if not isinstance(node, dict):
        return []
    own = node.get("values", []) if isinstance(node.get("values"), list) else []
    return [row for row in own if isinstance(row, dict)] + [row for one in node.values() for row in _values(one)]


def query(name: str, seconds: float) -> Json:
    times = {"time_s": value(seconds), "lowest_s": value(seconds / 2), "highest_s": value(seconds * 2)}
    return {"name": name, "figures": times, "facts": {"class": "random", "dominant_node": "Index Scan"}}


def test_queries_are_bars_by_target_and_protocol() -> None:
    records = [
        record(
            "tpch", target, [query("q01", 1.0), query("q02", 2.0), {"name": "q03", "figures": {}}], protocol=protocol
        )
        for target in ("/a", "/b")
        for protocol in ("cold", "hot")
    ]
    rows = drawn(figures.queries(records))
    cells = {(row["query"], row["target"], row["protocol"]) for row in rows if "query" in row}
    assert len(cells) == 8
    assert {row["low_s"] for row in rows if row.get("query") == "q02"} == {1.0}
    assert {row["class"] for row in rows if "class" in row} == {"random"}


def test_bands_of_predictions_are_the_whiskers() -> None:
    part = {"name": "q01", "figures": {"time_s": value(1.0, band={"low": 0.2, "high": 3.0})}}
    rows = drawn(figures.queries([record("tpch", "twin:x", [part], protocol="cold")]))
    assert next((row["low_s"], row["high_s"]) for row in rows if "low_s" in row) == (0.2, 3.0)


def test_transactions_have_throughput_and_latency() -> None:
    timed = distribution(Latencies((1, 1000, 5000), (10, 5, 1), 16))
    parts = [{"name": "new_order", "figures": {}, "service": timed}, {"name": "payment", "figures": {}}]
    records = [record("tpcc", "/a", parts, {"transactions_per_s": value(100.0)})]
    assert [row["rate"] for row in drawn(figures.throughput(records)) if "rate" in row] == [100.0]
    rows = [row for row in drawn(figures.latency(records)) if "ms" in row]
    assert {row["transaction"] for row in rows} == {"new_order"}
    assert [row["percentile"] for row in rows][:4] == ["p50", "p90", "p99", "p99.9"]
    assert [row["ms"] for row in rows] == sorted(row["ms"] for row in rows)


def test_ratios_of_wtperf_are_points() -> None:
    part = {"name": "read", "figures": {"of_first_ratio": value(0.5)}, "facts": {"against_first": "half"}}
    rows = drawn(figures.ratios([record("wtperf-small-btree", "/b", [part], page_cache="cold")]))
    assert [(row["workload"], row["ratio"]) for row in rows if "ratio" in row] == [
        ("small-btree read, page cache cold", 0.5)
    ]


def test_nothing_is_drawn_of_nothing() -> None:
    assert figures.charts([]) == {}
    assert figures.charts([record("ycsb-a", "/a", [])]) == {}
    everything = figures.charts([record("tpch", "/a", [query("q01", 1.0)], protocol="cold")])
    assert list(everything) == ["TPC-H-like: time of each query, by target"]
