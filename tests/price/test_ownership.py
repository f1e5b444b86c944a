"""Cost over months, wear, the rules of memory modules, and what a sum buys."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from assay.price.book import open_book
from assay.price.budget import budget
from assay.price.error import PriceError
from assay.price.history import capacity
from assay.price.ledger import Ledger
from assay.price.order import Order
from assay.price.ownership import HOURS_PER_MONTH, total
from assay.price.population import judge
from hypothesis import given
from hypothesis import strategies as some

Write = Callable[[str, str], Path]
POWER = """
[[price]]
item = "electricity"
value = 0.2
currency = "USD"
unit = "kWh"
date = "2026-10"
source = "our contract"
kind = "contract"
"""
DRIVES: list[dict[str, Any]] = [{"item": "970-evo-plus-1t", "count": 4}]


def cost(ledger: Ledger, **order: Any) -> dict[str, Any]:
    return total(ledger, Order.model_validate({"parts": DRIVES} | order), 2.0).figures


def test_purchase_is_spread_over_life(ledger: Ledger) -> None:
    found = cost(ledger, months=30, lifetime_months=60)
    assert found["usd"] == pytest.approx(4 * 250 / 2)
    assert found["usd_per_gb"] == pytest.approx(500 / 4000)
    assert (found["band"]["low"], found["band"]["high"]) == pytest.approx((250, 1000))


def test_units_of_work(ledger: Ledger) -> None:
    work = {"bandwidth": "5GB/s", "iops": 1e6, "ops_per_s": 2e6, "transactions_per_s": 1000}
    found = cost(ledger, months=60, work=work)
    assert found["usd_per_gb_per_s"] == pytest.approx(1000 / 5)
    assert found["usd_per_iops"] == pytest.approx(1000 / 1e6)
    seconds = 60 * HOURS_PER_MONTH * 3600
    assert found["usd_per_million_operations"] == pytest.approx(1000 / (2 * seconds))
    assert found["operations_per_usd"] == pytest.approx(2e6 * seconds / 1000)
    assert found["usd_per_transaction"] == pytest.approx(1000 / (1000 * seconds))


def test_energy_support_and_copies(write: Write) -> None:
    ledger = Ledger(open_book(write("q.toml", POWER)))
    energy = {"idle_w": 100, "active_w": 200, "utilisation": 0.5}
    found = cost(ledger, months=12, copies=3, support_percent_per_year=10, energy=energy)
    assert found["breakdown_usd"]["energy"] == pytest.approx(3 * 0.150 * HOURS_PER_MONTH * 12 * 0.2)
    assert found["breakdown_usd"]["support"] == pytest.approx(3 * 1000 * 0.1)
    assert found["breakdown_usd"]["purchase"] == pytest.approx(3 * 1000 / 5)


def test_energy_without_a_price_is_a_sentence(ledger: Ledger) -> None:
    with pytest.raises(PriceError, match="no price of `electricity`"):
        cost(ledger, energy={"idle_w": 100, "active_w": 200, "utilisation": 0.5})


def test_what_is_not_counted_is_said(ledger: Ledger) -> None:
    assert [entry["what"] for entry in cost(ledger)["not_counted"]] == ["energy"]


def test_drives_that_are_written_to_death_are_said_so_and_replaced(ledger: Ledger) -> None:
    # Four drives rated 600 TB each; 10 TB a day, twice over: 2400 / 20 = 120 days.
    use = {"written_per_day": "10TB", "write_amplification": 2}
    found = cost(ledger, months=60, endurance=use)
    wear = found["endurance"][0]
    assert wear["wear_months"] == pytest.approx(120 / (HOURS_PER_MONTH / 24))
    assert wear["worn_out_before_its_life"] is True
    assert found["usd"] == pytest.approx(1000 * 60 / wear["wear_months"])
    assert "is worn out after 3.9 months, before its life of 60" in ledger.warnings[0]


def test_light_writes_wear_nothing_out_and_cost_is_counted_once(ledger: Ledger) -> None:
    found = cost(ledger, months=60, endurance={"written_per_day": "10GB", "write_amplification": 2})
    assert found["endurance"][0]["worn_out_before_its_life"] is False
    assert found["usd"] == pytest.approx(1000)
    assert found["endurance"][0]["usd_used_up_by_writes"] < 1000


def test_rated_writes_that_no_source_gives_are_not_guessed(ledger: Ledger) -> None:
    parts = [{"item": "p4610-1.6t"}]
    use = {"written_per_day": "1TB", "write_amplification": 1}
    found = cost(ledger, parts=parts, endurance=use)
    assert "wear of p4610-1.6t" in [entry["what"] for entry in found["not_counted"]]
    rated = cost(ledger, parts=parts, endurance=use | {"rated": "12000TB"})
    assert rated["endurance"][0]["wear_months"] == pytest.approx(12_000 / (HOURS_PER_MONTH / 24))


def test_a_processor_counts_by_the_threads_in_use(ledger: Ledger) -> None:
    parts = [{"item": "xeon-6242r"}]
    found = cost(ledger, parts=parts, months=60, processor={"threads": 10, "utilisation": 0.5})
    assert found["usd"] == pytest.approx(2517 * 5 / 40)


@given(
    months=some.floats(1, 120),
    written=some.floats(1e9, 1e15),
    amplification=some.floats(1, 10),
    factor=some.floats(1.01, 3),
)
def test_more_writing_never_costs_less(months: float, written: float, amplification: float, factor: float) -> None:
    ledger = Ledger(open_book())
    use = {"written_per_day": written, "write_amplification": amplification}
    more = {"written_per_day": written * factor, "write_amplification": amplification}
    light, heavy = (cost(ledger, months=months, endurance=one)["usd"] for one in (use, more))
    assert heavy >= light * (1 - 1e-9)


@given(some.integers(1, 9), some.floats(1, 100))
def test_copies_multiply(copies: int, months: float) -> None:
    ledger = Ledger(open_book())
    one, many = (cost(ledger, months=months, copies=count)["usd"] for count in (1, copies))
    assert many == pytest.approx(one * copies)


@pytest.mark.parametrize(
    ("pmem", "dram", "verdict"),
    [
        *((1, 6, "legal"), (2, 4, "legal"), (6, 6, "legal"), (0, 12, "legal")),
        *((7, 5, "illegal"), (6, 7, "illegal"), (3, 6, "unknown"), (6, 0, "unknown")),
    ],
)
def test_the_rules_of_memory_modules(pmem: int, dram: int, verdict: str) -> None:
    found = judge(pmem, dram)
    assert found.verdict == verdict
    assert found.source
    assert found.date


def test_kinds_and_sizes_of_modules() -> None:
    assert judge(6, 6, kind="lrdimm").verdict == "legal"
    assert judge(6, 6, kind="3ds-rdimm").verdict == "legal"
    assert judge(6, 6, sizes=2).verdict == "unknown"
    with pytest.raises(PriceError, match="not a kind of module"):
        judge(6, 6, kind="udimm")
    with pytest.raises(PriceError, match="cannot be in a socket"):
        judge(-1, 6)


def test_an_illegal_population_is_not_priced(ledger: Ledger) -> None:
    parts = [{"item": "pmem100-128g", "count": 8}, {"item": "ddr4-32g", "count": 4}]
    with pytest.raises(PriceError, match="takes 6 modules of PMem"):
        cost(ledger, parts=parts)
    assert cost(ledger, parts=parts, sockets=2)["usd"] > 0
    assert "documented" in ledger.warnings[0]


def test_what_2000_dollars_bought_at_the_end_of_2019() -> None:
    found = budget(Ledger(open_book(as_of="2019-12")), 2000, 2.0, "2019-12").document()["rows"]
    by = {row["technology"]: row for row in found}
    shown = {
        name: (row["count"], round(row["capacity_tib"], 1), row["read_gb_per_s"], row["write_gb_per_s"])
        for name, row in by.items()
    }
    assert shown == {
        "disk": (20, 72.8, 2, 2),
        "flash array": (8, 7.3, 25, 20),
        "PMem": (3, 0.4, 37, 10),
        "DRAM": (12, 0.4, 92, 80),
    }
    reads = {name: row["random_reads_m_per_s"] for name, row in by.items()}
    assert reads == {"disk": 0.002, "flash array": 4, "PMem": 155, "DRAM": 1500}
    assert {row["provenance"] for row in found} == {"published"}


def test_another_sum_is_no_printed_figure(ledger: Ledger) -> None:
    rows = budget(ledger, 4000, 2.0, "2019-12").document()["rows"]
    assert {row["provenance"] for row in rows} == {"modelled"}
    assert {row["technology"]: row["count"] for row in rows}["disk"] == 40


@given(some.floats(200, 1e6))
def test_no_row_spends_more_than_there_is(usd: float) -> None:
    for row in budget(Ledger(open_book()), usd, 2.0).document()["rows"]:
        assert row["count"] >= 1
        assert row["spent_usd"] <= usd * (1 + 1e-9)
        assert row["spent_usd"] + row["usd_each"] > usd * (1 - 1e-9)


def test_capacity_per_dollar_rises_through_the_decades(ledger: Ledger) -> None:
    rows = [row for row in capacity(ledger).document()["rows"] if row["money"] == "dollars of 2010"]
    for technology in ("dram", "ssd", "disk"):
        values = [row["gb_per_usd"] for row in rows if row["technology"] == technology]
        assert len(values) >= 3
        assert values == sorted(values)
