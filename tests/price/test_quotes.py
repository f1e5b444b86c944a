"""Prices, facts and files, one by one: what is taken, in which unit, and how it is said where it cannot be."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from assay.price.answer import Answer
from assay.price.book import Book
from assay.price.day import parse_day
from assay.price.entry import Entry, Exchange, PriceFile
from assay.price.error import PriceError
from assay.price.fact import Fact
from assay.price.holding import Holding, parse, total
from assay.price.jungle import hardware_usd
from assay.price.ledger import Ledger
from assay.price.part import Assembly, Part
from assay.price.quotes import Quotes
from assay.price.ratio import Load, PricedMachine, ratio
from assay.price.reading import _shown, merged
from assay.price.reading import parse as read
from pydantic import ValidationError

from price.shop import GIB, book, entry, fact, ledger, part
from price.test_plan import close


@pytest.mark.parametrize(
    ("priced", "unit", "usd"),
    [
        # A part of 32 GiB.
        ("each", "each", 64.0),
        ("each", "GiB", 2.0),
        ("each", "GB", 2.0 / 1.073741824),
        ("GiB", "each", 64.0 * 32),
        ("GiB", "GB", 64.0 / 1.073741824),
        ("GB", "GiB", 64.0 * 1.073741824),
        ("GB", "each", 64.0 * 34.359738368),
        ("kWh", "kWh", 64.0),
        ("kWh", "each", None),
        ("each", "kWh", None),
        ("kWh", "GB", None),
        ("GB", "kWh", None),
    ],
)
def test_a_price_in_another_unit(priced: str, unit: str, usd: float | None) -> None:
    shop = Book([entry("dimm", 64, priced)], None, [part("dimm")])
    if usd is None:
        with pytest.raises(PriceError, match=f"is priced per {priced}, not per {unit}"):
            shop.price("dimm", unit)
    else:
        assert float(shop.price("dimm", unit).usd) == close(usd)
        assert shop.price("dimm", unit).unit == unit


def test_a_price_per_size_needs_no_capacity_for_another_size() -> None:
    shop = Book([entry("tape", 1, "GB"), entry("bare", 2, "GB")], None, [part("bare")])
    assert float(shop.price("tape", "GiB").usd) == close(1.073741824)
    assert float(shop.price("bare", "GiB").usd) == close(2 * 1.073741824)
    for item in ("tape", "bare"):
        with pytest.raises(PriceError, match="not per each"):
            shop.price(item)


def rate(currency: str, usd: float, day: str) -> Exchange:
    return Exchange.model_validate({"currency": currency, "usd": usd, "date": day, "source": "b"})


def test_the_newest_price_counts_and_quotes_before_it() -> None:
    old, new = entry("drive", 90, date="2025-01"), entry("drive", 80, date="2025-06")
    quotes = Quotes(price=[entry("drive", 70, date="2024"), entry("drive", 60, date="2025")])
    assert Book([old, new]).price("drive").usd == 80
    found = Book([new, old], quotes)
    assert [float(one.value) for one, _ in found.entries("drive")] == [60, 70, 80, 90]
    assert [origin for _, origin in found.entries("drive")] == ["quotes", "quotes", "catalog", "catalog"]
    assert found.price("drive").usd == 60
    assert found.price("drive").origin == "quotes"
    assert [float(one.usd) for one in found.dated("drive")] == [90, 80, 70, 60]


def test_a_study_has_its_own_price() -> None:
    shop = Book([entry("drive", 90, date="2025", study="a"), entry("drive", 80, date="2026", study="b")])
    assert [float(shop.price("drive", study=study).usd) for study in ("", "a", "b")] == [80, 90, 80]
    with pytest.raises(PriceError):
        shop.price("drive", study="c")


def test_a_day_begins_what_it_counts_for() -> None:
    entries = [entry("drive", 90, date="2025-03-01")]
    quotes = Quotes(price=[entry("dimm", 5, date="2025-03-01")])
    assert Book(entries, quotes, as_of=date(2025, 3, 1)).items() == ["dimm", "drive"]
    assert Book(entries, quotes, as_of=date(2025, 2, 28)).items() == []


def test_a_quote_of_today_is_taken() -> None:
    today = str(Book([]).now)
    assert Book([], Quotes(price=[entry("drive", 1, date=today)])).price("drive").age_days == 0


def test_dates_that_cannot_be_converted_are_left_out() -> None:
    shop = Book([entry("tape", 1, date="2024"), entry("tape", 2, "GB", date="2025")])
    assert [float(one.usd) for one in shop.dated("tape")] == [1.0]


def test_the_rate_nearest_in_time_counts() -> None:
    rates = [rate("CHF", 1.25, "2025-01"), rate("CHF", 2.0, "2025-12"), rate("EUR", 9.0, "2025-06")]
    for day, usd in (("2025-02", 10.0), ("2025-11", 16.0)):
        shop = Book([], Quotes(price=[entry("drive", 8, currency="CHF", date=day)], exchange=rates))
        found = shop.price("drive")
        assert float(found.usd) == usd
        assert found.document()["exchange"]["usd"] in ("1.25", "2.0")
    assert "exchange" not in Book([entry("drive", 8)]).price("drive").document()


def test_parts_of_the_file_win() -> None:
    own = Part.model_validate({"item": "dimm", "title": "Ours", "family": "dram", "capacity_bytes": fact(GIB)})
    assert Book([entry("dimm", 5)], None, [part("dimm"), own]).price("dimm", "GiB").usd == 5
    assert book().part("drive").title == "Drive"
    with pytest.raises(PriceError, match="not a part"):
        book().part("tape")
    with pytest.raises(PriceError, match="no source gives read_iops of bare"):
        part("bare").fact("read_iops")


@pytest.mark.parametrize(
    ("today", "age"), [(date(2026, 1, 30), 0), (date(2026, 1, 31), 0), (date(2026, 2, 1), 1), (date(2026, 5, 1), 90)]
)
def test_a_month_is_as_old_as_its_last_day(today: date, age: int) -> None:
    assert parse_day("2026-01").age_days(today) == age
    assert parse_day(" 2026-01-05 ").text == "2026-01-05"


def test_a_price_of_ninety_days_is_not_old() -> None:
    for day, stale in ((date(2026, 5, 1), False), (date(2026, 5, 2), True)):
        assert Book([entry("drive", 1)], as_of=day).price("drive").stale is stale


SHORT: dict[str, Any] = {"item": "x", "value": 0.5, "currency": "USD", "unit": "each", "date": "2026", "source": "s", "kind": "list"}  # fmt: skip # noqa: E501


@pytest.mark.parametrize("wrong", [{"item": ""}, {"source": ""}, {"value": 0}, {"value": -1}, {"value": "inf"}])
def test_a_price_has_a_name_a_source_and_an_amount(wrong: dict[str, Any]) -> None:
    assert Entry.model_validate(SHORT).value == Decimal("0.5")
    with pytest.raises(ValidationError):
        Entry.model_validate(SHORT | wrong)


def test_rates_facts_and_sets_have_bounds() -> None:
    assert rate("CHF", 0.5, "2026").usd == Decimal("0.5")
    with pytest.raises(ValidationError):
        Exchange.model_validate({"currency": "CHF", "usd": 1, "date": "2026", "source": ""})
    plain = {"value": 0, "kind": "datasheet", "source": "s", "date": "d"}
    assert Fact.model_validate(plain).value == 0
    for wrong in ({"value": -0.1}, {"source": ""}, {"date": ""}):
        with pytest.raises(ValidationError):
            Fact.model_validate(plain | wrong)
    names = ("capacity_tb_printed", "read_bytes_per_s", "write_bytes_per_s", "random_reads_per_s")
    of_one = dict.fromkeys(names, 1) | dict.fromkeys(("name", "technology", "item", "source", "date"), "x")
    assert Assembly.model_validate(of_one | {"kind": "published", "count": 1}).count == 1
    with pytest.raises(ValidationError):
        Assembly.model_validate(of_one | {"kind": "published", "count": 0})


def test_what_stands_beside_prices_is_read_elsewhere() -> None:
    assert read('[[volume]]\nname = "v"\n', "p.toml", PriceFile).price == []
    with pytest.raises(PriceError, match="volume"):
        read('[[volume]]\nname = "v"\n', "p.toml", Quotes)


@pytest.mark.parametrize(("length", "shown"), [(60, "x" * 60), (61, "x" * 57 + "...")])
def test_long_values_are_cut(length: int, shown: str) -> None:
    assert _shown("x" * length) == shown


def test_documents_merge_table_by_table() -> None:
    under = {"a": 1, "b": {"c": 2, "d": 3}, "e": {"f": 4}, "g": 5}
    over = {"a": 6, "b": {"c": 7}, "e": 8, "g": {"h": 9}}
    assert merged(under, over) == {"a": 6, "b": {"c": 7, "d": 3}, "e": 8, "g": {"h": 9}}


@pytest.mark.parametrize(
    ("text", "holding", "said"),
    [("x", Holding("x", 1), "x"), ("x*1", Holding("x"), "x"), ("x*2", Holding("x", 2), "2 x x")],
)
def test_so_many_of_a_part(text: str, holding: Holding, said: str) -> None:
    assert parse(text) == holding
    assert str(holding) == said


def test_holdings_cost_their_sum() -> None:
    assert total([Holding("a", 3), Holding("b", 2)], {"a": Decimal(5), "b": Decimal(7)}) == 29
    assert total([], {}) == 0


def test_what_was_said_once_is_not_said_again() -> None:
    kept = ledger()
    for _ in range(2):
        kept.warn("old")
        kept.note_fact("x", Fact.model_validate(fact(1)))
    assert (kept.warnings, len(kept.inputs)) == (["old"], 1)


def test_an_answer_says_what_it_was_made_of() -> None:
    kept = Ledger(book())
    kept.usd("drive")
    found = Answer("cost", {"x": 1}, [], kept, "f").document()
    assert (found["command"], found["x"], found["as_of"], found["prices"][0]["item"]) == (
        "cost",
        1,
        "2026-02-01",
        "drive",
    )


def test_a_processor_of_one_thread_has_a_price() -> None:
    assert hardware_usd(Decimal(1), Decimal(2), Decimal(10), Decimal("0.5"), Decimal(1)) == 8
    with pytest.raises(PriceError):
        hardware_usd(Decimal(1), Decimal(2), Decimal(10), Decimal(1), Decimal(0))


def test_r_of_small_loads_and_other_threads() -> None:
    machine = PricedMachine([Holding("drive", 2)], [Holding("dimm", 3)], "cpu")
    found = ratio(ledger(), machine, Load(0.5, "operations/s", 0.5, 1.0), 2.0).figures
    assert (found["storage_usd"], found["dram_usd"], found["cpu_usd"]) == (200.0, 192.0, 25.0)
    assert (found["usd"], found["r"]) == (417.0, close(0.5 / 417))
    assert (found["band"]["low"], found["band"]["high"]) == (close(0.25 / 417), close(1 / 417))
    given = PricedMachine([Holding("drive", 2)], [], "cpu", 5)
    assert ratio(ledger(), given, Load(1, "x", 1, 0.0), 2.0).figures["cpu_usd"] == 0.0
    assert ratio(ledger(), given, Load(1, "x", 1, 0.5), 2.0).figures["cpu_usd"] == 100.0
