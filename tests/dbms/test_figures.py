"""Figures of databases: what records say is what is drawn."""

from typing import Any, cast

from assay.charts.palette import Palette
from assay.dbms.wtperf.distribution import distribution
from assay.dbms.wtperf.parse import Latencies
from assay.record import WorkRecord
from assay.report.figures import databases
from assay.results.work import Work
from assay.untyped import Json


def record(workload: str, target: str, parts: list[Json], figures_: Json | None = None, **parameters: Any) -> Work:
    document = {
        "kind": "database",
        "subject": {"name": "duckdb"},
        "workload": {"name": workload, "parameters": parameters},
        "targets": [{"role": "data", "target": target}],
        "figures": figures_ or {},
        "parts": parts,
        "verdict": {"status": "valid"},
    }
    return Work(f"{workload}-{target}".replace("/", "-"), cast("WorkRecord", document))


def value(number: float, **more: Any) -> Json:
    return {"value": number, "unit": "s", "provenance": "measured", **more}


def drawn(figure: Any) -> list[Json]:
    """Rows that the panels draw: the same as those of the figure's table."""
    rows = [row for panel in figure.panels for row in panel.spec["data"]["values"]]
    assert sorted(map(str, rows)) == sorted(map(str, figure.data))
    return rows


def query(name: str, seconds: float) -> Json:
    times = {"time_s": value(seconds), "lowest_s": value(seconds / 2), "highest_s": value(seconds * 2)}
    return {"name": name, "figures": times, "facts": {"class": "random", "dominant_node": "Index Scan"}}


def test_queries_are_bars_by_target_and_protocol() -> None:
    works = [
        record(
            "tpch", target, [query("q01", 1.0), query("q02", 2.0), {"name": "q03", "figures": {}}], protocol=protocol
        )
        for target in ("/a", "/b")
        for protocol in ("cold", "hot")
    ]
    figure = databases.queries(works, Palette())
    assert figure is not None
    assert [panel.title for panel in figure.panels] == ["cold", "hot"]
    assert [key.label for key in figure.keys] == ["duckdb on /a", "duckdb on /b"]
    rows = drawn(figure)
    assert len({(row["x"], row["series"], row["panel"]) for row in rows}) == len(rows) == 8
    assert {row["low"] for row in rows if row["x"] == "q02"} == {1e9}
    assert {row["class"] for row in rows} == {"random"}


def test_bands_of_predictions_are_the_whiskers() -> None:
    part = {"name": "q01", "figures": {"time_s": value(1.0, band={"low": 0.2, "high": 3.0})}}
    figure = databases.queries([record("tpch", "twin:x", [part], protocol="cold")], Palette())
    assert figure is not None
    assert [(row["low"], row["high"]) for row in drawn(figure)] == [(0.2e9, 3e9)]


def test_transactions_have_throughput_and_latency() -> None:
    timed = distribution(Latencies((1, 1000, 5000), (10, 5, 1), 16))
    parts = [{"name": "new_order", "figures": {}, "service": timed}, {"name": "payment", "figures": {}}]
    work = record("tpcc", "/a", parts, {"transactions_per_s": value(100.0)})
    work.record["intervals"] = [{"at_s": 1.0, "length_s": 0.5, "operations": 50}, {"at_s": 2, "length_s": 0}]
    over_time, latency = databases.series([work], Palette()), databases.latency([work], Palette())
    assert over_time is not None
    assert latency is not None
    assert [(row["x"], row["y"]) for row in drawn(over_time)] == [(1.0, 100.0)]
    rows = drawn(latency)
    assert [panel.title for panel in latency.panels] == ["new order"]
    assert [row["x"] for row in rows] == ["p50", "p90", "p99", "p99.9"]
    assert [row["y"] for row in rows] == sorted(row["y"] for row in rows)


def test_ratios_of_wtperf_are_points() -> None:
    part = {"name": "read", "figures": {"of_first_ratio": value(0.5)}, "facts": {"against_first": "half"}}
    figure = databases.ratios([record("wtperf-small-btree", "/b", [part], page_cache="cold")], Palette())
    assert figure is not None
    assert [(row["x"], row["y"]) for row in drawn(figure)] == [("small-btree: read, page cache cold", 0.5)]


def test_nothing_is_drawn_of_nothing_and_nothing_of_what_is_invalid() -> None:
    assert list(databases.draw([], Palette())) == []
    assert list(databases.draw([record("ycsb-a", "/a", [])], Palette())) == []
    work = record("tpch", "/a", [query("q01", 1.0)], protocol="cold")
    assert [figure.id for figure in databases.draw([work], Palette())] == ["database-queries"]
    work.record["verdict"]["status"] = "invalid"
    assert list(databases.draw([work], Palette())) == []
