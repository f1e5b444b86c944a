"""A figure with unit, provenance and band.

Made from schema/ by `tools/record_types.py`; a test says when it is stale.
"""

from typing import Literal, TypedDict


class Band(TypedDict, total=False):
    """Where a computed figure's true value is expected."""

    high: float
    low: float


Method = Literal[
    "loop",
    "hardware-counter",
    "software-event",
    "rusage",
    "rusage-times-tsc",
    "kernel-accounting",
    "derived",
    "simulation",
]
"""Which instrument gave a figure; a fallback is never silent."""

Provenance = Literal["measured", "emulated", "modelled", "published", "datasheet", "assumed"]
"""Where a figure came from."""

Unit = Literal[
    "bytes/s",
    "ops/s",
    "ns",
    "s",
    "bytes",
    "count",
    "cycles/byte",
    "cycles/op",
    "instructions/op",
    "1/op",
    "ratio",
    "Hz",
]
"""Unit of a figure."""


class Figure(TypedDict, total=False):
    """One number with unit, provenance and instrument."""

    band: Band | None
    method: Method
    provenance: Provenance
    unit: Unit
    value: float
