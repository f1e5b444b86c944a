"""What a system costs, figure by figure, out of a book of round prices; and what a sum buys of it."""

from __future__ import annotations

from typing import Any

import pytest
from assay.price.answer import Answer
from assay.price.book import Price, open_book
from assay.price.budget import _assembly, budget
from assay.price.error import PriceError
from assay.price.ledger import Ledger
from assay.price.listing import listing
from assay.price.order import Endurance, Order
from assay.price.ownership import total
from assay.price.seen import Seen
from assay.untyped import Json
from pydantic import ValidationError

from price.shop import book, entry, ledger, part
from price.test_plan import close

HOURS = 730.0


def bill(*parts: tuple[str, int], seen: Seen | None = None, into: Ledger | None = None, **order: Any) -> Answer:
    bought = [{"item": item, "count": count} for item, count in parts or (("drive", 2),)]
    return total(into or ledger(), Order.model_validate({"parts": bought} | order), 2.0, seen)


def test_a_whole_bill() -> None:
    found = bill(
        ("drive", 2), ("dimm", 3), ("cpu", 1), ("tape", 4),
        months=30, copies=3, support_percent_per_year=12,
        energy={"idle_w": 100, "active_w": 300, "utilisation": 0.25},
        processor={"threads": 8, "utilisation": 0.5},
    )  # fmt: skip
    # Of the processor 8 * 0.5 of 20 threads count, and half of all lives of 60 months passes.
    outlay = 200 + 192 + 200 + 20
    figures = found.figures
    assert figures["breakdown_usd"] == {
        "purchase": close(3 * outlay / 2),
        "energy": close(3 * 0.150 * HOURS * 30 * 0.2),
        "support": close(3 * outlay * 0.12 * 2.5),
    }
    usd = sum(figures["breakdown_usd"].values())
    assert (figures["usd"], figures["usd_per_month"]) == (close(usd), close(usd / 30))
    assert (figures["usd_per_gb"], figures["usd_per_gb_month"]) == (close(usd / 2000), close(usd / 30 / 2000))
    assert (figures["band"]["low"], figures["band"]["high"]) == (close(usd / 2), close(usd * 2))
    assert (figures["not_counted"], figures["endurance"], figures["record"]) == ([], [], None)
    assert figures["order"]["provenance"] == "assumed"
    assert found.lines[0].startswith(f"{usd:.2f} USD over 30 months, {usd / 30:.2f} a month: purchase 918.00, energy")
    assert found.lines[2] == f"That is {usd / 2000:.4g} USD per GB; {usd / 30 / 2000:.4g} USD per GB and month."
    assert len(found.lines) == 3


def test_units_of_work() -> None:
    work = {"capacity": 5e11, "bandwidth": 4e9, "iops": 8, "ops_per_s": 2e6, "transactions_per_s": 10}
    figures = bill(months=12, lifetime_months=12, work=work).figures
    seconds = 12 * HOURS * 3600
    assert {name: figures[name] for name in figures if "_per_" in name} == {
        "usd_per_month": close(200 / 12),
        "usd_per_gb": close(200 / 500),
        "usd_per_gb_month": close(200 / 12 / 500),
        "usd_per_gb_per_s": close(200 / 4),
        "usd_per_iops": 25.0,
        "usd_per_million_operations": close(200 / (2 * seconds)),
        "operations_per_usd": close(2e6 * seconds / 200),
        "usd_per_transaction": close(200 / (10 * seconds)),
    }
    plain = bill(("dimm", 1)).figures
    names = ("usd_per_gb", "usd_per_gb_per_s", "usd_per_iops", "usd_per_million_operations", "operations_per_usd")
    assert [plain[name] for name in (*names, "usd_per_transaction")] == [None] * 6
    assert len(bill(("dimm", 1)).lines) == 3, "the total, its band, and that energy is not counted"


@pytest.mark.parametrize(
    ("parts", "gb"),
    [
        ([("drive", 2), ("bare", 1), ("dimm", 6)], 2500.0),
        ([("module", 2), ("dimm", 4)], 256.0),
        ([("cpu", 1), ("tape", 1)], None),
    ],
)
def test_the_labels_of_storage_are_its_capacity(parts: list[tuple[str, int]], gb: float | None) -> None:
    figures = bill(*parts).figures
    assert figures["usd_per_gb"] == (None if gb is None else close(figures["usd"] / gb))


def test_a_part_of_its_own_life() -> None:
    parts = [{"item": "drive", "lifetime_months": 12}, {"item": "dimm"}]
    figures = total(ledger(), Order.model_validate({"parts": parts, "months": 6}), 2.0).figures
    assert figures["usd"] == close(100 * 6 / 12 + 64 * 6 / 60)


# Two drives of 730 TB each; a month has 730 hours, so that 24 TB a day are 730 TB a month.
DAY = 24e12


def test_drives_wear_by_all_that_is_written() -> None:
    use = {"written_per_day": DAY / 4, "write_amplification": 2}
    found = bill(months=12, copies=3, endurance=use)
    assert found.figures["endurance"] == [
        {
            "item": "drive",
            "wear_months": close(4.0),
            "life_months": 60.0,
            "worn_out_before_its_life": True,
            "usd_used_up_by_writes": close(3 * 2 * 100 * 12 / 4),
        }
    ]
    assert found.figures["usd"] == close(3 * 200 * 12 / 4)
    assert "drive is worn out after 4.0 months, before its life of 60; it is replaced then" in found.ledger.warnings
    assert "Writes use up 1800.00 USD of drive; its rated bytes last 4.0 months." in found.lines


@pytest.mark.parametrize(("life", "worn"), [(4.0, False), (4.1, True), (3.9, False)])
def test_wear_counts_where_it_ends_before_life(life: float, worn: bool) -> None:
    use = {"written_per_day": DAY / 4, "write_amplification": 2}
    figures = bill(months=1, lifetime_months=life, endurance=use).figures
    assert figures["endurance"][0]["worn_out_before_its_life"] is worn
    assert figures["usd"] == close(200 / min(life, 4.0))


def test_wear_that_nobody_can_tell_is_said() -> None:
    use = {"written_per_day": DAY, "write_amplification": 1}
    found = bill(("bare", 1), ("dimm", 1), ("tape", 1), endurance=use).figures
    assert [one["what"] for one in found["not_counted"]] == ["energy", "wear of bare"]
    assert found["endurance"] == []
    rated = bill(("bare", 2), ("drive", 2), endurance=use | {"rated": 73e13}).figures
    assert [one["wear_months"] for one in rated["endurance"]] == [close(4.0), close(4.0)], "spread over four drives"


def test_a_day_of_twelve_hours_is_half_a_day() -> None:
    half = Endurance.model_validate({"written_per_day": 10, "write_amplification": 3, "hours_per_day": 12})
    assert half.per_day == 15.0
    assert Endurance.model_validate({"written_per_day": 10, "write_amplification": 3}).per_day == 30.0


@pytest.mark.parametrize(("idle", "active", "watts"), [(100, 100, 100.0), (0, 50, 25.0), (0.5, 0.5, 0.5)])
def test_power_lies_between_idle_and_active(idle: float, active: float, watts: float) -> None:
    energy = {"idle_w": idle, "active_w": active, "utilisation": 0.5}
    found = bill(months=1, energy=energy).figures["breakdown_usd"]["energy"]
    assert found == close(watts / 1000 * HOURS * 0.2)
    with pytest.raises(PriceError, match="less than"):
        bill(energy={"idle_w": 101, "active_w": 100, "utilisation": 0.5})


def test_a_system_that_takes_no_power_at_rest_and_never_works_costs_no_energy() -> None:
    found = bill(months=1, energy={"idle_w": 0, "active_w": 50, "utilisation": 0}).figures
    assert found["breakdown_usd"]["energy"] == 0.0


def test_what_an_order_takes_where_nothing_is_said() -> None:
    order = Order.model_validate({"parts": [{"item": "drive"}]})
    assert (order.months, order.lifetime_months, order.sockets, order.copies) == (36.0, 60.0, 1, 1)
    assert (order.support_percent_per_year, order.parts[0].count) == (0.0, 1)
    use = Endurance.model_validate({"written_per_day": 0.5, "write_amplification": 1})
    assert use.hours_per_day == 24.0


@pytest.mark.parametrize(
    ("more", "good", "bad"),
    [
        ("months", 0.5, 0),
        ("lifetime_months", 0.5, 0),
        ("sockets", 1, 0),
        ("copies", 1, 0),
        ("support_percent_per_year", 0.0, -1),
        ("parts", [{"item": "x"}], []),
        ("parts", [{"item": "x", "count": 1}], [{"item": "x", "count": 0}]),
        ("parts", [{"item": "x"}], [{"item": ""}]),
        ("energy", {"idle_w": 0, "active_w": 1, "utilisation": 0}, {"idle_w": -1, "active_w": 1, "utilisation": 0}),
        ("energy", {"idle_w": 0.5, "active_w": 1, "utilisation": 1}, {"idle_w": 0, "active_w": 1, "utilisation": 1.1}),
        ("energy", {"idle_w": 0, "active_w": 1, "utilisation": 0.5}, {"idle_w": 0, "active_w": 1, "utilisation": -0.1}),
        ("processor", {"threads": 1, "utilisation": 0}, {"threads": 1, "utilisation": -0.1}),
        ("processor", {"threads": 1, "utilisation": 1}, {"threads": 1, "utilisation": 1.1}),
        (
            "endurance",
            {"written_per_day": 1, "write_amplification": 1, "hours_per_day": 24},
            {"written_per_day": 1, "write_amplification": 1, "hours_per_day": 24.5},
        ),
        (
            "endurance",
            {"written_per_day": 1, "write_amplification": 1, "hours_per_day": 0.5},
            {"written_per_day": 1, "write_amplification": 1, "hours_per_day": 0},
        ),
        (
            "endurance",
            {"written_per_day": 1, "write_amplification": 1},
            {"written_per_day": 1, "write_amplification": 0.9},
        ),
        ("months", "1e1", True),
    ],
)  # fmt: skip
def test_bounds_of_an_order(more: str, good: Any, bad: Any) -> None:
    Order.model_validate({"parts": [{"item": "x"}]} | {more: good})
    with pytest.raises(ValidationError):
        Order.model_validate({"parts": [{"item": "x"}]} | {more: bad})


@pytest.mark.parametrize(
    ("parts", "sockets", "said"),
    [
        ([("module", 2), ("dimm", 4)], 1, ""),
        ([("module", 3), ("dimm", 7)], 2, ""),
        ([("module", 1), ("other", 1), ("dimm", 4)], 1, "sizes of PMem may be mixed"),
        ([("module", 3), ("dimm", 6)], 1, "no source documents 3 of PMem with 6"),
        ([("dimm", 99), ("tape", 1)], 1, ""),
    ],
)
def test_modules_are_counted_for_each_socket(parts: list[tuple[str, int]], sockets: int, said: str) -> None:
    warned = " ".join(bill(*parts, sockets=sockets).ledger.warnings)
    assert said in warned
    assert ("PMem" in warned) == bool(said)


def test_modules_that_no_socket_takes_are_refused() -> None:
    with pytest.raises(PriceError, match="takes 6 modules"):
        bill(("module", 7), ("dimm", 5))


def known(**more: Any) -> Seen:
    return Seen("r", "a record", "valid", "measured", {"iops": 5.0}, 1e6, None, **more)


def test_what_a_record_leaves_open_is_said() -> None:
    least = {"written_per_day": 1.0, "write_amplification": 1}
    said = " ".join(bill(seen=known(), endurance=least).ledger.warnings)
    assert "write amplification 1 is taken" in said
    assert "taken to go on all day" in said
    given = {"written_per_day": 1.0, "write_amplification": 2, "hours_per_day": 12}
    assert not bill(seen=known(), endurance=given).ledger.warnings
    assert not bill(seen=known()).ledger.warnings
    assert not bill(endurance=least).ledger.warnings
    assert bill(seen=known()).figures["record"]["id"] == "r"


def bought(usd: float, *more: Any) -> dict[str, Json]:
    return {row["item"]: row for row in budget(ledger(*more), usd, 2.0).figures["rows"]}


def test_what_a_sum_buys() -> None:
    rows = bought(1050.0)
    assert sorted(rows) == ["bare", "dimm", "drive", "module", "other"], "no processor"
    assert rows["drive"] == {
        "date": "2026-01", "technology": "ssd", "item": "drive", "title": "Drive", "set": "10 x Drive", "count": 10,
        "spent_usd": 1000.0, "usd_each": 100.0, "printed_capacity_tb": None, "capacity_tib": close(1e13 / 2**40),
        "read_gb_per_s": 20.0, "write_gb_per_s": 10.0, "random_reads_m_per_s": 1.0, "provenance": "modelled",
        "basis": "data sheet of one, times the count; an upper bound", "source": "the shop",
        "count_band": {"factor": 2.0, "low": 5, "high": 21},
    }  # fmt: skip
    assert (rows["other"]["count"], rows["bare"]["capacity_tib"]) == (1, None)
    grid = budget(ledger(), 1050.0, 2.0).table
    assert ["2026-01", "10 x Drive", "1000.00", "9.09", "20", "10", "1", "modelled"] in grid
    assert ["2026-01", "26 x Bare", "1040.00", "-", "-", "-", "-", "modelled"] in grid
    facts = {one["name"] for one in budget(ledger(), 150.0, 2.0).ledger.inputs}
    assert {"drive capacity_bytes", "drive random_reads_per_s"} <= facts


def test_a_sum_that_buys_nothing_names_the_cheapest() -> None:
    assert budget(ledger(), 0.5, 2.0).lines == [
        "0.5 USD buy no part of the price book; the cheapest is Bare at 40.00 USD (2026-01)."
    ]
    assert budget(ledger(), 39.0, 2.0, "2026").lines[0].startswith("39 USD buy no part of 2026 of the price book; the")
    assert budget(ledger(), 39.0, 2.0, "1999").lines == [
        "The price book has no price of 1999; `assay cost prices` lists what it has."
    ]
    with pytest.raises(PriceError, match="buy nothing"):
        budget(ledger(), 0.0, 2.0)


@pytest.mark.parametrize(
    ("item", "day", "origin", "count"),
    [
        ("ddr4-32g", "2019-12", "catalog", 12),
        ("disk-4t", "2019-12", "catalog", 20),
        ("ddr4-32g", "2020-12", "catalog", None),
        ("ddr4-128g", "2019-12", "catalog", None),
        ("ddr4-32g", "2019-12", "quotes", None),
    ],
)
def test_a_set_is_of_its_item_its_day_and_the_catalog(item: str, day: str, origin: str, count: int | None) -> None:
    priced = entry(item, 1, date=day)
    found = _assembly(part("dimm").model_copy(update={"item": item}), Price(priced, priced.value, "each", 0, origin))
    assert (None if found is None else found.count) == count


@pytest.mark.parametrize(("usd", "basis"), [(2000, "printed for 20"), (4000, "printed for 20, scaled by the count")])
def test_a_set_that_was_printed_says_of_how_many(usd: float, basis: str) -> None:
    rows = budget(Ledger(open_book(as_of="2019-12")), usd, 2.0, "2019-12").figures["rows"]
    assert [row["basis"] for row in rows if row["item"] == "disk-4t"] == [basis]


def test_the_list_of_prices() -> None:
    quoted = listing(Ledger(book(entry("tape", 7.5, note="new", date="2025"))), "ta")
    assert quoted.lines == ["1 prices; --quotes FILE adds yours, which win."]
    assert quoted.table[1] == ["tape", "7.5 USD", "each", "2025", "list", "catalog", "the shop"]
    assert quoted.figures["rows"][0] | {"value": 7.5, "origin": "catalog"} == quoted.figures["rows"][0]
    assert quoted.figures["rows"][0]["item"] == "tape"
    assert len(listing(ledger()).table) == 1 + 8
