"""Numbers as people write them: decimal bytes per second, binary block sizes, times in the unit that fits."""

from __future__ import annotations

import math

_RATES = ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s"))
_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns"))
_COUNTS = ((1e9, " G"), (1e6, " M"), (1e5, " k"))
_BLOCKS = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_SIZES = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def significant(value: float, digits: int = 3) -> str:
    """`value` with that many significant digits, never in exponent notation and never losing whole digits."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "not a number"
    # 0.9995 has three digits as 1.00: rounding may give one more before the point.
    power = int(format(value, f".{digits - 1}e").rpartition("e")[2])
    text = format(value, f",.{max(0, digits - 1 - power)}f")
    return text.replace(",", "\u00a0") if power > 2 else text


def _scaled(value: float, steps: tuple[tuple[float, str], ...]) -> str:
    for factor, unit in steps:
        # 0.9995 rounds to 1.00, which belongs to the larger unit.
        if abs(value) >= factor * 0.9995:
            return f"{significant(value / factor)} {unit}"
    factor, unit = steps[-1]
    return f"{significant(value / factor)} {unit}"


def rate(bytes_per_s: float) -> str:
    """Bytes per second."""
    return _scaled(bytes_per_s, _RATES)


def time(ns: float) -> str:
    """Nanoseconds."""
    return _scaled(ns, _TIMES)


def count(value: float) -> str:
    """A count, or operations per second, without its noun; written out below a hundred thousand."""
    for factor, unit in _COUNTS:
        if abs(value) >= factor * 0.9995:
            return significant(value / (1e3 if unit == " k" else factor)) + unit
    return significant(value)


def block(size_bytes: float) -> str:
    """A block or page size; powers of two are what people mean here."""
    for factor, unit in _BLOCKS:
        if size_bytes >= factor:
            return f"{size_bytes / factor:g} {unit}"
    return f"{size_bytes:g} B"


def article(noun: str) -> str:
    """`An 8 KiB`, `A 4 KiB`."""
    digits = noun.split(maxsplit=1)[0]
    return f"An {noun}" if digits.startswith("8") or digits in {"11", "18"} else f"A {noun}"


def size(size_bytes: float) -> str:
    """A capacity in decimal bytes."""
    return _scaled(size_bytes, (*_SIZES, (1.0, "B")))


def duration(seconds: float) -> str:
    """Seconds of a run."""
    if seconds < 60:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{significant(seconds, 2)} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [(hours, "h"), (minutes, "min"), (0 if hours else rest, "s")]
    return " ".join(f"{count} {unit}" for count, unit in parts if count)


def percent(share: float) -> str:
    """A share of one."""
    return f"{significant(share * 100, 2)} %"


def times(ratio: float) -> str:
    """A ratio that is multiplied with."""
    return f"{significant(ratio, 2)}x"


_BY_UNIT = {"bytes/s": rate, "ns": time, "bytes": size, "ratio": significant}
_NOUNS = {
    "ops/s": "ops/s",
    "cycles/byte": "cycles/byte",
    "cycles/op": "cycles/op",
    "instructions/op": "instr/op",
    "1/op": "per op",
    "s": "s",
    "Hz": "Hz",
}


def figure(value: float, unit: str) -> str:
    """A figure of a record in its unit."""
    if unit in _BY_UNIT:
        return _BY_UNIT[unit](value)
    text = significant(value) if abs(value) < 1000 else count(value)
    noun = _NOUNS.get(unit, "")
    return f"{text}{noun}" if text.endswith(("k", "M", "G")) and noun == "Hz" else f"{text} {noun}".strip()


def span(low: float, high: float, unit: str) -> str:
    """An interval, with the unit said once where both ends share it."""
    first, last = figure(low, unit), figure(high, unit)
    head, _, tail = first.partition(" ")
    same = tail and last.endswith(" " + tail) and last.count(" ") == first.count(" ")
    return f"{head} to {last}" if same else f"{first} to {last}"
