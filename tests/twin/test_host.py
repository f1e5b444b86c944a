"""Costs of paths from cycles per operation."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from assay import home
from assay.twin import catalog
from assay.twin import host_measure as host
from assay.twin.document import to_toml

CATALOG = Path(__file__).resolve().parents[2] / "catalog"


def test_two_sizes_give_a_line() -> None:
    per_op, per_byte = host.line(10_000 + 0.5 * 4096, 10_000 + 0.5 * 65_536)
    assert per_op == pytest.approx(10_000)
    assert per_byte == pytest.approx(0.5)


def test_a_line_that_falls_costs_nothing_per_byte() -> None:
    assert host.line(5000, 4000) == (5000, 0)


def test_two_batches_give_what_a_submission_costs() -> None:
    def cycles(cell: host.Cell) -> float:
        return 9000 + 0.1 * cell.size + 3200 / cell.batch

    cost = host.cost("libaio", {cell: cycles(cell) for cell in host.cells("libaio")}, "2026-11-22")
    assert cost["cycles_per_submission"]["value"] == pytest.approx(3200, rel=1e-3)
    assert cost["cycles_per_read"]["value"] == pytest.approx(9000, rel=1e-3)
    assert cost["cycles_per_byte_write"]["value"] == pytest.approx(0.1, rel=1e-3)


def test_a_host_is_toml_that_reads_back() -> None:
    machine = {"kernel": "6.18", "cpu": {"model": "a CPU", "usable": 2, "tsc_hz": 2.6e9}}
    cycles = dict.fromkeys(host.cells("pread_direct"), 9000.0)
    costs = {"pread_direct": host.cost("pread_direct", cycles, "2026-11-22")}
    document = host._host("mine", machine, costs, "2026-11-22")
    again = tomllib.loads(to_toml(document))
    assert again["clock_hz"]["value"] == 2.6e9
    assert again["costs"]["pread_direct"]["cycles_per_read"]["kind"] == "measured"


@pytest.mark.parametrize("kind", ["twins", "hosts"])
def test_every_parameter_of_the_catalog_says_where_it_comes_from(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home, "catalog", lambda: CATALOG)
    kinds = {"measured", "published", "fitted", "datasheet", "assumed"}
    names = catalog.twins() if kind == "twins" else catalog.hosts()
    assert names
    for name in names:
        document = catalog.twin(name) if kind == "twins" else catalog.host(name)
        found = list(catalog.parameters(document))
        assert found, name
        for where, parameter in found:
            assert parameter["kind"] in kinds, (name, where)
            assert len(parameter["source"]) > 3, (name, where)
            assert parameter["date"][:2] == "20", (name, where)
            if "low" in parameter and "high" in parameter:
                assert parameter["low"] <= parameter["high"], (name, where)
