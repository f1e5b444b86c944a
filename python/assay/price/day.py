"""Dates as sources give them: a year, a month or a day."""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime

from assay.price.error import PriceError

_FORM = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")


@dataclass(frozen=True)
class Day:
    """A year, a month or a day; `first` and `last` are its ends."""

    text: str
    first: date
    last: date

    def age_days(self, today: date) -> int:
        """Days since its end, never negative: a price of this year is not older than today."""
        return max(0, (today - self.last).days)


def parse_day(text: str) -> Day:
    """`2022`, `2022-01` or `2022-01-15`."""
    match = _FORM.fullmatch(text.strip())
    try:
        if match is None:
            raise ValueError("its form")
        year, month, day = int(match[1]), int(match[2] or 1), int(match[3] or 1)
        first = date(year, month, day)
        last_month = month if match[2] else 12
        last_day = day if match[3] else calendar.monthrange(year, last_month)[1]
        return Day(match[0], first, date(year, last_month, last_day))
    except ValueError as error:
        raise PriceError(f"`{text}` is not a date", "write 2026, 2026-07 or 2026-07-22") from error


def today() -> date:
    """The date of today, UTC."""
    return datetime.now(UTC).date()
