"""The price book: the catalog's prices, and the user's quotes, which win."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from assay import home
from assay.error import did_you_mean
from assay.price import part as parts_of
from assay.price.day import Day, parse_day, today
from assay.price.entry import Entry, Exchange, PriceFile
from assay.price.error import PriceError
from assay.price.part import Part
from assay.price.quotes import Quotes
from assay.price.reading import read

OLD_DAYS = 90
CATALOG_FILES = ("devices.toml", "memory.toml", "processors.toml", "volumes.toml")
_GIB = Decimal(2**30)
_GB = Decimal(10**9)


@dataclass(frozen=True)
class Price:
    """A price in US dollars, with the entry behind it."""

    entry: Entry
    usd: Decimal
    unit: str
    age_days: int
    origin: str
    exchange: Exchange | None = None

    @property
    def stale(self) -> bool:
        """Whether it is older than 90 days."""
        return self.age_days > OLD_DAYS

    def document(self) -> dict[str, Any]:
        """As results print it."""
        entry = self.entry
        found: dict[str, Any] = {
            "item": entry.item,
            "usd": float(self.usd),
            "unit": self.unit,
            "value": float(entry.value),
            "currency": entry.currency,
            "priced_unit": entry.unit,
            "date": entry.date,
            "age_days": self.age_days,
            "kind": entry.kind,
            "source": entry.source,
            "origin": self.origin,
        }
        if entry.note:
            found["note"] = entry.note
        if self.exchange is not None:
            found["exchange"] = self.exchange.model_dump(mode="json")
        return found


class Book:
    """Prices by item. `as_of` leaves out what is newer, and is the day that ages are counted to."""

    def __init__(
        self,
        catalog: Sequence[Entry],
        quotes: Quotes | None = None,
        parts: Iterable[Part] = (),
        as_of: date | None = None,
    ) -> None:
        self.now = as_of or today()
        self.quotes = [entry for entry in (quotes.price if quotes else ()) if self._in_time(entry.day, "quote")]
        self.catalog = [entry for entry in catalog if entry.day.first <= self.now]
        self.exchanges = list(quotes.exchange if quotes else ())
        self.parts = {part.item: part for part in parts}
        for entry in self.quotes:
            self._usd(entry)

    def _in_time(self, day: Day, what: str) -> bool:
        if day.first > today():
            raise PriceError(f"a {what} of {day.text} lies in the future", "correct its date")
        return day.first <= self.now

    def items(self) -> list[str]:
        """Every item that has a price."""
        return sorted({entry.item for entry in [*self.catalog, *self.quotes]})

    def entries(self, item: str) -> list[tuple[Entry, str]]:
        """All entries of an item with their origin: quotes first, then the catalog, the newest of each first."""
        found = [(entry, "quotes") for entry in self.quotes if entry.item == item]
        newest = sorted(
            (entry for entry in self.catalog if entry.item == item), key=lambda e: e.day.first, reverse=True
        )
        found.sort(key=lambda pair: pair[0].day.first, reverse=True)
        return [*found, *((entry, "catalog") for entry in newest)]

    def price(self, item: str, unit: str = "each", study: str = "") -> Price:
        """The price that counts: a quote, otherwise the study's where one is named, otherwise the newest."""
        entries = self.entries(item)
        if not entries:
            known = did_you_mean(item, self.items())
            hint = f'{known}; or quote it: `--quotes FILE` with [[price]] item = "{item}"' if known else "quote it"
            raise PriceError(f"there is no price of `{item}` up to {self.now}", hint)
        quoted = [pair for pair in entries if pair[1] == "quotes"]
        of_study = [pair for pair in entries if study and pair[0].study == study]
        for entry, origin in [*quoted, *of_study, *([] if study else entries)]:
            converted = self._in_unit(entry, unit)
            if converted is not None:
                exchange = self._exchange(entry)
                return Price(entry, converted, unit, entry.day.age_days(self.now), origin, exchange)
        seen = sorted({entry.unit for entry, _ in entries})
        hint = f'quote it per {unit}, or give capacity_bytes of [[part]] item = "{item}" in the file of quotes'
        raise PriceError(f"`{item}` is priced per {' and per '.join(seen)}, not per {unit}", hint)

    def part(self, item: str) -> Part:
        """A part by its name: the user's description wins."""
        return parts_of.find(item, self.parts)

    def dated(self, item: str) -> list[Price]:
        """Every price of an item as one `each`, the oldest first; those that cannot be converted are left out."""
        found = []
        for entry, origin in reversed(self.entries(item)):
            usd = self._in_unit(entry, "each")
            if usd is not None:
                age = entry.day.age_days(self.now)
                found.append(Price(entry, usd, "each", age, origin, self._exchange(entry)))
        return found

    def _in_unit(self, entry: Entry, unit: str) -> Decimal | None:
        usd = self._usd(entry)
        if entry.unit == unit:
            return usd
        # Bytes of what is priced, and of what is asked for; of a part as many as it holds.
        sizes = {"GiB": _GIB, "GB": _GB, "each": self._capacity(entry.item)}
        priced, asked = sizes.get(entry.unit), sizes.get(unit)
        return None if priced is None or asked is None else usd * asked / priced

    def _capacity(self, item: str) -> Decimal | None:
        part = self.parts.get(item)
        return part.capacity_bytes.value if part is not None and part.capacity_bytes is not None else None

    def _exchange(self, entry: Entry) -> Exchange | None:
        if entry.currency == "USD":
            return None
        dated = [one for one in self.exchanges if one.currency == entry.currency]
        if not dated:
            hint = f'add [[exchange]] currency = "{entry.currency}", usd = ..., date, source to the file of quotes'
            raise PriceError(f"`{entry.item}` is priced in {entry.currency}, which has no exchange rate", hint)
        return min(dated, key=lambda one: abs((parse_day(one.date).first - entry.day.first).days))

    def _usd(self, entry: Entry) -> Decimal:
        exchange = self._exchange(entry)
        return entry.value if exchange is None else entry.value * exchange.usd


@cache
def catalog_entries() -> tuple[Entry, ...]:
    """The prices of the catalog."""
    folder = home.catalog() / "prices"
    return tuple(entry for name in CATALOG_FILES for entry in read(folder / name, PriceFile, "prices").price)


def open_book(quotes: Path | None = None, as_of: str | None = None) -> Book:
    """The catalog's prices with a file of the user's own beside it."""
    own = None if quotes is None else read(quotes, Quotes, "quotes")
    parts = [*parts_of.catalog_parts().part, *(own.part if own else ())]
    return Book(catalog_entries(), own, parts, None if as_of is None else parse_day(as_of).last)
