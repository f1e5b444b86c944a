"""Units of published figures: how much of the base unit each is."""

from __future__ import annotations

from assay.error import FAILED, AssayError, did_you_mean

_GIB = 1 << 30

# Base units: bytes/s, 1/s, ns, cycles/byte, s, and none; prices and what they buy are in their own.
_BASE: dict[str, float] = {
    "B/s": 1.0,
    "MB/s": 1e6,
    "GB/s": 1e9,
    "MiB/s": float(1 << 20),
    "GiB/s": float(_GIB),
    "1/s": 1.0,
    "ns": 1.0,
    "us": 1e3,
    "ms": 1e6,
    "s": 1.0,
    "cycles/byte": 1.0,
    "ktxn/s": 1e3,
    "USD/GB": 1.0,
    "USD/GiB": 1.0,
    "TB": 1.0,
    "M/s": 1.0,
    "-": 1.0,
}


def base_of(unit: str) -> float:
    """How many base units one of `unit` is.

    Raises:
        AssayError: where the unit is not known.
    """
    try:
        return _BASE[unit]
    except KeyError as error:
        hint = did_you_mean(unit, _BASE)
        raise AssayError(f"a claim has the unit `{unit}`", hint=hint, code=FAILED) from error
