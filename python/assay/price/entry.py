"""One price: of what, how much, in which currency, for which unit, when, and who says so."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, ClassVar, Literal, get_args

from pydantic import AfterValidator, ConfigDict, Field

from assay.document.table import Table
from assay.price.day import Day, parse_day
from assay.price.error import PriceError

Kind = Literal["list", "street", "quote", "contract"]
Unit = Literal["each", "GiB", "GB", "GB-month", "hour", "month", "IOPS-month", "MiB/s-month", "kWh"]
UNITS: tuple[str, ...] = get_args(Unit)


def _positive(value: Decimal) -> Decimal:
    if not value.is_finite() or value <= 0:
        raise ValueError("a price must be above zero")
    return value


def _day(text: str) -> str:
    try:
        return parse_day(text).text
    except PriceError as error:
        raise ValueError(f"{error.message}; {error.hint}") from error


Amount = Annotated[Decimal, AfterValidator(_positive)]
DayText = Annotated[str, AfterValidator(_day)]
Currency = Annotated[str, Field(pattern=r"^[A-Z]{3}$")]


class Entry(Table):
    """A price as a file holds it."""

    item: str = Field(min_length=1)
    value: Amount
    currency: Currency
    unit: Unit
    date: DayText
    source: str = Field(min_length=1)
    kind: Kind
    note: str = ""
    study: str = ""

    @property
    def day(self) -> Day:
        """Its date."""
        return parse_day(self.date)


class Exchange(Table):
    """What one unit of a currency was worth in US dollars, on a day, as the user says."""

    currency: Currency
    usd: Amount
    date: DayText
    source: str = Field(min_length=1)


class PriceFile(Table):
    """A file of prices of the catalog; what stands beside the prices is read elsewhere."""

    model_config = ConfigDict(extra="ignore")
    open_keys: ClassVar[bool] = True

    price: list[Entry] = Field(default_factory=list)
