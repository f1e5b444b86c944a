"""Sizes, durations and rates as people write them: `4KiB`, `5GB`, `100ms`, `250MB/s`, `1000/s`.

Sizes are bytes, durations seconds, rates bytes per second or operations per second.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal

from assay.error import BAD_JOB, AssayError

BYTE_UNITS = {
    "B": 1,
    "kB": 10**3,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "PB": 10**15,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
    "PiB": 2**50,
}
SECOND_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}

_QUANTITY = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z]*)\s*", re.ASCII)
_LARGEST_BYTES = 2**63 - 1
_MOST_DIGITS = 30


class UnitError(AssayError):
    """A text that is no quantity of the kind that was wanted."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message, hint=hint, code=BAD_JOB)


@dataclass(frozen=True)
class Rate:
    """A rate in bytes or in operations per second; exactly one of them is set."""

    bytes_per_s: float | None = None
    ops_per_s: float | None = None

    def operations(self, mean_bytes: float) -> float:
        """Operations per second when an operation moves `mean_bytes`."""
        return self.ops_per_s if self.ops_per_s is not None else (self.bytes_per_s or 0.0) / mean_bytes


def _split(text: str, what: str, example: str) -> tuple[Decimal, str]:
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise UnitError(f"`{text}` is not {what}", f"write a number and a unit, such as {example}")
    number = Decimal(match[1])
    if number.adjusted() > _MOST_DIGITS:
        raise UnitError(f"`{text}` is too large for {what}", f"write a number and a unit, such as {example}")
    return number, match[2]


def parse_bytes(value: float | str) -> int:
    """Bytes of `4KiB`, `5GB` or a number; units of a thousand and of 1024 are never mixed up.

    A number that is not whole, as arithmetic gives it, is rounded down.
    """
    if not isinstance(value, str):
        return _whole_bytes(math.floor(value) if math.isfinite(value) else value, str(value))
    number, unit = _split(value, "a size", "4KiB or 5GB")
    if unit and unit not in BYTE_UNITS:
        hint = "write KiB, MiB, GiB, TiB, PiB (powers of 1024) or kB, MB, GB, TB, PB (powers of 1000)"
        raise UnitError(f"`{value}`: `{unit}` is not a unit of size", hint)
    return _whole_bytes(number * BYTE_UNITS.get(unit, 1), value)


def _whole_bytes(number: float | Decimal, text: str) -> int:
    if not math.isfinite(number) or number < 0 or number > _LARGEST_BYTES:
        raise UnitError(f"`{text}` is not a size between 0 and 8 EiB", "write a size such as 4KiB or 5GB")
    if number != round(number):
        raise UnitError(f"`{text}` is not a whole number of bytes", "write a size such as 4KiB or 5GB")
    return round(number)


def parse_seconds(value: float | str) -> float:
    """Seconds of `100ms`, `2h` or a plain number."""
    if not isinstance(value, str):
        number, unit = float(value), ""
    else:
        amount, unit = _split(value, "a duration", "100ms, 10s or 2h")
        number = float(amount)
    if unit and unit not in SECOND_UNITS:
        raise UnitError(f"`{value}`: `{unit}` is not a unit of time", "write ns, us, ms, s, min or h")
    if not math.isfinite(number) or number < 0:
        raise UnitError(f"`{value}` is not a duration", "write a duration such as 100ms, 10s or 2h")
    return number * SECOND_UNITS.get(unit, 1.0)


def parse_rate(value: float | str) -> Rate:
    """`250MB/s` is bytes per second; `1000/s`, `1000 ops/s` and a plain number are operations per second."""
    if not isinstance(value, str):
        return _positive(Rate(ops_per_s=float(value)), str(value))
    text = value.strip()
    if not text.endswith("/s"):
        number, unit = _split(text, "a rate", "250MB/s or 1000/s")
        if unit:
            raise UnitError(f"`{value}` is not a rate", "write bytes or operations per second: 250MB/s or 1000/s")
        return _positive(Rate(ops_per_s=float(number)), value)
    amount = text[:-2].strip()
    number, unit = _split(amount, "a rate", "250MB/s or 1000/s")
    if unit in ("", "ops"):
        return _positive(Rate(ops_per_s=float(number)), value)
    return _positive(Rate(bytes_per_s=float(parse_bytes(amount))), value)


def _positive(rate: Rate, text: str) -> Rate:
    number = rate.ops_per_s if rate.ops_per_s is not None else rate.bytes_per_s
    if number is None or not math.isfinite(number) or number <= 0:
        raise UnitError(f"`{text}` is not a rate above zero", "write a rate such as 250MB/s or 1000/s")
    return rate


def number_of(value: object) -> float | int:
    """The number that stands for `value` in arithmetic: bytes of a size, seconds of a duration, a rate per second."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise UnitError(f"`{value}` cannot be calculated with", "use a number, a size, a duration or a rate")
    if not isinstance(value, str):
        return value
    text = value.strip()
    if text.endswith("/s"):
        rate = parse_rate(text)
        return rate.ops_per_s if rate.ops_per_s is not None else rate.bytes_per_s or 0.0
    number, unit = _split(text, "a quantity", "4KiB, 10s or 250MB/s")
    if unit in BYTE_UNITS:
        return parse_bytes(text)
    if unit in SECOND_UNITS:
        return parse_seconds(text)
    if unit:
        raise UnitError(f"`{value}`: `{unit}` is not a unit", "use units such as KiB, GB, ms, s or /s")
    return int(number) if number == int(number) else float(number)


def format_bytes(count: float) -> str:
    """Bytes for people, in powers of 1024 and at most three digits: `1.5 GiB`."""
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        if count >= BYTE_UNITS[unit]:
            return f"{count / BYTE_UNITS[unit]:.3g} {unit}" if count < 1000 * BYTE_UNITS[unit] else _long(count, unit)
    return f"{count:.0f} B"


def _long(count: float, unit: str) -> str:
    return f"{count / BYTE_UNITS[unit]:.0f} {unit}"


def exact_size(count: int) -> str:
    """Bytes in the largest unit of 1024 that divides them: `1536MiB`; what `parse_bytes` reads back unchanged."""
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        if count and count % BYTE_UNITS[unit] == 0:
            return f"{count // BYTE_UNITS[unit]}{unit}"
    return f"{count}B"


def format_seconds(seconds: float) -> str:
    """Seconds for people: `2h 5min`, `3min 20s`, `12s`, `1.5s`."""
    if seconds >= 3600:
        return f"{int(seconds // 3600)}h {int(seconds % 3600 // 60)}min"
    if seconds >= 60:
        return f"{int(seconds // 60)}min {int(seconds % 60)}s"
    return f"{seconds:.0f}s" if seconds >= 10 else f"{seconds:.1f}s"


def format_rate(bytes_per_s: float) -> str:
    """Bytes per second for people, in powers of 1000 as data sheets count: `512 MB/s`."""
    for unit in ("GB", "MB", "kB"):
        if bytes_per_s >= BYTE_UNITS[unit]:
            return f"{bytes_per_s / BYTE_UNITS[unit]:.3g} {unit}/s"
    return f"{bytes_per_s:.0f} B/s"


def format_ns(nanoseconds: float) -> str:
    """A latency for people: `85 us`, `1.2 ms`."""
    for limit, scale, unit in ((1e3, 1.0, "ns"), (1e6, 1e3, "us"), (1e9, 1e6, "ms")):
        if nanoseconds < limit:
            return f"{nanoseconds / scale:.3g} {unit}"
    return f"{nanoseconds / 1e9:.3g} s"
