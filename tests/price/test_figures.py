"""Figures of costs and choices, one by one."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from assay.price.band import swing
from assay.price.choose.latency import CatalogLatencies
from assay.price.choose.plan import Planner
from assay.price.choose.volume import catalog_volumes
from assay.price.choose.workload import Workload
from assay.price.error import PriceError
from assay.price.ledger import Ledger
from assay.price.lomet import Curves, PricedStore
from pydantic import ValidationError

from price.test_choose import machine, plan, workload


def close(value: float) -> Any:
    return pytest.approx(value, rel=1e-9)


def test_a_band_moves_each_price_alone_and_all_at_once() -> None:
    prices = {"up": Decimal(100), "down": Decimal(10)}
    found = swing(lambda at: float(at["up"] / at["down"]), prices, 2.0)
    assert (found["low"], found["high"]) == (close(2.5), close(40.0))
    assert found["by_price"] == {"up": {"low": 5.0, "high": 20.0}, "down": {"low": 5.0, "high": 20.0}}
    still = swing(lambda _: 7.0, prices, 1.0)
    assert (still["low"], still["high"], still["factor"]) == (7.0, 7.0, 1.0)
    for factor in (0.99, float("nan"), float("inf")):
        with pytest.raises(PriceError, match="is no band"):
            swing(lambda _: 7.0, prices, factor)


def curves(memory: str, rops_ss: float = 1e5) -> tuple[float | None, dict[str, float]]:
    """One GiB; a device of 1 dollar of which a GiB is a tenth, and a processor of 100 dollars."""
    store = PricedStore(2.0**30, "dram", "ssd", "cpu", rops_mm=1e6, rops_ss=rops_ss)
    prices = {"dram per GiB": Decimal(memory), "ssd": Decimal(1), "cpu": Decimal(100)}
    found = Curves(store, 1e5, 0.1)
    return found.crossing(prices), found.cost(prices, 1000.0)


def test_memory_and_device_cross_where_their_costs_are_equal() -> None:
    # 0.5 dollars of memory against 0.1 of the device; 100 / 1e5 + 1 / 1e5 against 100 / 1e6 an operation a second.
    crossing, cost = curves("0.5")
    assert crossing == close(0.4 / (101e-5 - 1e-4))
    assert cost == {"memory": close(0.5 + 0.1), "device": close(0.1 + 1.01)}
    assert curves("0.1")[0] is None, "memory is never dearer"
    assert curves("0.05")[0] is None


def test_old_prices_are_counted_and_named() -> None:
    def old(*names: str) -> list[str]:
        ledger = Ledger(SimpleNamespace())  # type: ignore[arg-type]
        for name in names:
            entry = SimpleNamespace(item=name, date="2022-01-01")
            ledger.prices[name, "each", ""] = SimpleNamespace(stale=name != "new", entry=entry)  # type: ignore[assignment]
        return ledger._old()

    assert old("new") == []
    assert old("a", "new")[0].startswith("one price is older than ")
    assert old("a", "b")[0].startswith("2 prices are older than ")
    assert ": a (2022-01-01), b (2022-01-01); quote" in old("a", "b")[0]


def test_every_copy_of_a_write_reaches_storage() -> None:
    work = workload(writes_per_s="10000/s", durability="replicated", copies=3, working_set="1TB")
    planner = Planner(work, CatalogLatencies(catalog_volumes()))
    found = planner.plan(machine(memory_bytes=0.0), 3)
    writes = next(limit for limit in found.limits if limit.name.startswith("write"))
    assert writes.demand == close(3 * 10_000)


def test_reads_that_memory_serves_wait_for_nothing() -> None:
    small = plan(workload(working_set="1GiB", reads_per_s=10e3), machine())
    assert (small.hit_ratio, small.read_latency_ns, small.read_p99_ns) == (1.0, 0.0, 0.0)
    half = plan(workload(working_set="128GiB", reads_per_s=10e3), machine(cloud="aws"))
    assert half.latency.value_ns is not None
    assert half.read_latency_ns == close((1 - half.hit_ratio) * half.latency.value_ns)


def test_a_latency_is_sure_where_the_bands_end_meets_it() -> None:
    free = plan(workload(working_set="1TB", reads_per_s=10e3), machine(memory_bytes=0.0, cloud="aws"))
    assert free.latency_sure, "nobody asked"
    value = free.read_latency_ns
    assert value is not None

    def met(bound_ns: float) -> tuple[bool, bool]:
        found = replace(free, latency=replace(free.latency, band=0.25), latency_bound_ns=bound_ns)
        return found.latency_met, found.latency_sure

    assert met(value * 0.99) == (False, False)
    assert met(value * 1.24) == (True, False)
    assert met(value * 1.26) == (True, True)
    unknown = plan(workload(latency={"read": "1s"}, working_set="1TB", reads_per_s=10e3), machine(memory_bytes=0.0))
    assert (unknown.latency_met, unknown.latency_sure) == (False, False)


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("utilisation", (0.01, 1.0), (0.0, 1.01)),
        ("fill", (0.01, 1.0), (0.0, 1.01)),
        ("most_instances", (1, 10_000), (0, 10_001)),
    ],
)
def test_shares_and_counts_have_bounds(name: str, good: tuple[float, ...], bad: tuple[float, ...]) -> None:
    for value in good:
        assert getattr(workload(**{name: value}), name) == value
    for value in bad:
        with pytest.raises(ValidationError):
            workload(**{name: value})
    plain = Workload.model_validate({"capacity": "1TB", "reads_per_s": "1/s", "durability": "local"})
    assert (plain.copies, plain.utilisation, plain.fill, plain.most_instances) == (1, 0.7, 0.8, 64)
    assert (plain.page, plain.memory, plain.writes_per_s) == (4096.0, 0.0, 0.0)
