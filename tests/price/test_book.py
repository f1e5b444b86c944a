"""The price book: quotes win, currencies need a rate, ages warn, nothing is free."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from assay import home
from assay.error import AssayError
from assay.price.book import CATALOG_FILES, Book, open_book
from assay.price.day import parse_day
from assay.price.entry import Entry, PriceFile
from assay.price.error import PriceError
from assay.price.ledger import Ledger
from assay.price.part import catalog_parts
from assay.price.reading import read
from hypothesis import given
from hypothesis import strategies as some

Write = Callable[[str, str], Path]

QUOTE = """
[[price]]
item = "p4800x-375g"
value = {value}
currency = "{currency}"
unit = "each"
date = "{date}"
source = "our dealer"
kind = "quote"
"""
RATE = """
[[exchange]]
currency = "CHF"
usd = 1.25
date = "2026-01"
source = "our bank"
"""


def quote(value: object = 700, currency: str = "USD", day: str = "2026-01") -> str:
    return QUOTE.format(value=value, currency=currency, date=day)


def test_every_price_of_the_catalog_has_a_source_and_a_date() -> None:
    entries = [e for name in CATALOG_FILES for e in read(home.catalog() / "prices" / name, PriceFile, "x").price]
    assert len(entries) > 20
    for entry in entries:
        assert entry.value > 0
        assert entry.source
        assert entry.day.first <= datetime.now(UTC).date()
        assert entry.kind in ("list", "street")  # Quotes and contracts are a user's own.


def test_every_storage_or_memory_item_with_a_price_is_a_part() -> None:
    parts = {part.item for part in catalog_parts().part}
    for name in ("devices.toml", "memory.toml"):
        for entry in read(home.catalog() / "prices" / name, PriceFile, "x").price:
            assert entry.item in parts


def test_a_quote_wins_over_the_catalog(write: Write) -> None:
    book = open_book(write("q.toml", quote()))
    found = book.price("p4800x-375g")
    assert (found.usd, found.origin) == (Decimal(700), "quotes")
    assert open_book().price("p4800x-375g").usd == 999
    # It wins over a price that a study names, too: the user knows better what he pays.
    assert book.price("p4800x-375g", study="jungle").usd == 700


def test_the_newest_price_of_the_catalog_counts_and_as_of_goes_back() -> None:
    assert open_book().price("pmem100-128g").entry.date == "2022-01"
    assert open_book(as_of="2019-12").price("pmem100-128g").entry.date == "2019-12"
    assert open_book(as_of="2019-04").price("pmem100-128g").usd == 577
    with pytest.raises(PriceError, match="no price of `pmem100-128g` up to 2018-12-31"):
        open_book(as_of="2018").price("pmem100-128g")


def test_a_currency_without_a_rate_is_a_sentence(write: Write) -> None:
    with pytest.raises(PriceError, match="priced in CHF, which has no exchange rate") as found:
        open_book(write("q.toml", quote(currency="CHF")))
    assert "[[exchange]]" in found.value.hint


def test_a_currency_is_converted_by_the_users_rate(write: Write) -> None:
    found = open_book(write("q.toml", quote(800, "CHF") + RATE)).price("p4800x-375g")
    assert found.usd == 1000
    exchange = found.document()["exchange"]
    assert exchange["source"] == "our bank"


def test_the_rate_of_the_nearest_date_counts(write: Write) -> None:
    later = RATE.replace("1.25", "2").replace("2026-01", "2026-06")
    assert open_book(write("q.toml", quote(800, "CHF") + RATE + later)).price("p4800x-375g").usd == 1000
    assert open_book(write("q.toml", quote(800, "CHF", "2026-06") + RATE + later)).price("p4800x-375g").usd == 1600


@pytest.mark.parametrize("value", ["0", "-5", "0.0"])
def test_a_price_of_zero_or_less_is_refused(write: Write, value: str) -> None:
    with pytest.raises(PriceError, match=r"line 4, price\.0\.value: .*(above zero|finite)"):
        open_book(write("q.toml", quote(value)))


@pytest.mark.parametrize("value", ["nan", "inf"])
def test_a_price_that_is_no_number_is_refused(write: Write, value: str) -> None:
    with pytest.raises(AssayError, match="where a number is wanted"):
        open_book(write("q.toml", quote(value)))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (('"USD"', '"dollars"'), "currency"),
        (('"each"', '"bushel"'), "unit"),
        (('"quote"', '"rumour"'), "kind"),
        (('"2026-01"', '"2026-13"'), "is not a date"),
        (('"2026-01"', '"soon"'), "is not a date"),
        (('source = "our dealer"', ""), "source is missing"),
        (("[[price]]", "[[prices]]"), "`prices` is not a key here"),
        (('item = "p4800x-375g"', "item = "), "is not valid TOML"),
    ],
)
def test_a_wrong_quote_is_a_sentence(write: Write, change: tuple[str, str], sentence: str) -> None:
    with pytest.raises(PriceError, match=sentence) as found:
        open_book(write("q.toml", quote().replace(*change)))
    assert found.value.hint


def test_a_quote_of_the_future_is_refused(write: Write) -> None:
    tomorrow = f"{datetime.now(UTC).date() + timedelta(days=2)}"
    with pytest.raises(PriceError, match="lies in the future"):
        open_book(write("q.toml", quote(day=tomorrow)))


def test_old_prices_warn_and_new_ones_do_not(write: Write) -> None:
    now = datetime.now(UTC).date()
    for days, stale in ((0, False), (90, False), (91, True)):
        ledger = Ledger(open_book(write("q.toml", quote(day=str(now - timedelta(days=days))))))
        ledger.usd("p4800x-375g")
        warned = "older than 90 days" in " ".join(ledger.document()["warnings"])
        assert warned is stale, days


def test_an_item_that_nobody_priced_is_a_sentence(ledger: Ledger) -> None:
    with pytest.raises(PriceError, match="no price of `p4800x`") as found:
        ledger.usd("p4800x")
    assert "did you mean `p4800x-375g`?" in found.value.hint


def test_prices_per_capacity_and_per_part_agree(ledger: Ledger) -> None:
    # Drop-in's 0.36 USD per GiB of 1500 GiB; jungle's module is priced each.
    assert ledger.usd("p4610-1.6t") == Decimal("540.00")
    each, per_gib = ledger.usd("p4800x-375g"), ledger.usd("p4800x-375g", "GiB")
    assert float(per_gib * Decimal(375 * 10**9) / 2**30) == pytest.approx(float(each))
    with pytest.raises(PriceError, match="priced per each, not per kWh"):
        ledger.usd("p4800x-375g", "kWh")


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2022", date(2022, 1, 1), date(2022, 12, 31)),
        ("2024-02", date(2024, 2, 1), date(2024, 2, 29)),
        ("2019-12-05", date(2019, 12, 5), date(2019, 12, 5)),
    ],
)
def test_a_date_is_a_year_a_month_or_a_day(text: str, first: date, last: date) -> None:
    assert (parse_day(text).first, parse_day(text).last) == (first, last)


@given(some.dates(min_value=date(1980, 1, 1), max_value=date(2100, 1, 1)), some.integers(0, 20_000))
def test_an_age_is_never_negative_and_grows_by_the_day(day: date, days: int) -> None:
    found = parse_day(str(day))
    assert found.age_days(day + timedelta(days=days)) == days
    assert found.age_days(day - timedelta(days=days)) == 0


@given(
    value=some.decimals(min_value="0.0001", max_value="1e9", allow_nan=False, places=4),
    other=some.decimals(min_value="0.0001", max_value="1e9", allow_nan=False, places=4),
)
def test_of_two_entries_of_the_catalog_the_newer_counts_whatever_it_costs(value: Decimal, other: Decimal) -> None:
    common = {"item": "x", "currency": "USD", "unit": "each", "source": "s", "kind": "list"}
    entries = [Entry(value=value, date="2020", **common), Entry(value=other, date="2021", **common)]  # type: ignore[arg-type]
    for order in (entries, entries[::-1]):
        assert Book(order).price("x").usd == other
