"""What is bought and what it does: the file of `assay cost total`."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from assay.document.table import Table
from assay.error import AssayError
from assay.units.parse import number_of


def _number(value: Any) -> float:
    try:
        return float(number_of(float(value) if not isinstance(value, str | bool) else value))
    except AssayError as error:
        raise ValueError(f"{error.message}; {error.hint}") from error


Quantity = Annotated[float, BeforeValidator(_number), Field(ge=0)]
Above0 = Annotated[float, BeforeValidator(_number), Field(gt=0)]


class Bought(Table):
    """So many of a part."""

    item: str = Field(min_length=1)
    count: int = Field(1, gt=0)
    lifetime_months: Above0 | None = None


class Energy(Table):
    """Power of one system, and how busy it is."""

    idle_w: Quantity
    active_w: Above0
    utilisation: float = Field(ge=0, le=1)
    item: str = "electricity"


class Endurance(Table):
    """What is written to the storage of one system; `rated` is of one drive and defaults to its data sheet.

    `hours_per_day` is how long it writes at that rate, where the rate is a record's.
    """

    written_per_day: Above0
    write_amplification: float = Field(ge=1)
    rated: Above0 | None = None
    hours_per_day: float = Field(24.0, gt=0, le=24)

    @property
    def per_day(self) -> float:
        """Bytes that the drives' cells take a day."""
        return self.written_per_day * self.hours_per_day / 24 * self.write_amplification


class Processor(Table):
    """How much of the processor counts: W threads that are busy for U of the time. Without it, all of it counts."""

    threads: Above0
    utilisation: float = Field(ge=0, le=1)


class PricedWork(Table):
    """What one copy of the system does; capacity defaults to the labels of its storage."""

    capacity: Above0 | None = None
    bandwidth: Above0 | None = None
    iops: Above0 | None = None
    ops_per_s: Above0 | None = None
    transactions_per_s: Above0 | None = None


class Order(Table):
    """A system over months."""

    months: Above0 = 36.0
    lifetime_months: Above0 = 60.0
    sockets: int = Field(1, gt=0)
    copies: int = Field(1, gt=0)
    support_percent_per_year: float = Field(0.0, ge=0)
    parts: list[Bought] = Field(min_length=1)
    energy: Energy | None = None
    endurance: Endurance | None = None
    processor: Processor | None = None
    work: PricedWork = PricedWork()
