"""Histograms of records: read, merged and turned into a curve. Percentiles themselves are never merged."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from hdrh.histogram import HdrHistogram

from assay.record import Distribution

_LOWEST, _HIGHEST, _DIGITS = 1, 3_600_000_000_000, 3


def read(distribution: Distribution | None) -> Any | None:
    """The histogram of a distribution; none where there is none or it cannot be read."""
    text = (distribution or {}).get("histogram")
    if not text:
        return None
    try:
        return HdrHistogram.decode(str(text).encode())
    except Exception:  # noqa: BLE001  The library raises whatever its parts raise; a damaged histogram is only absent.
        return None


def merge(distributions: Iterable[Distribution | None]) -> Any | None:
    """All histograms together; none where none can be read."""
    found = [one for one in map(read, distributions) if one is not None and one.get_total_count() > 0]
    if not found:
        return None
    if len(found) == 1:
        return found[0]
    merged = HdrHistogram(_LOWEST, _HIGHEST, _DIGITS)
    for one in found:
        merged.add(one)
    return merged


def curve(histogram: Any, points: int = 160) -> list[tuple[float, float]]:
    """Shares of operations and the latency in ns within which they were done, dense towards the tail."""
    total = histogram.get_total_count()
    end = math.log10(total) if total > 1 else 0.31
    shares = [1 - 10 ** (-end * step / points) for step in range(points)]
    values = histogram.get_percentile_to_value_dict([share * 100 for share in shares])
    found: list[tuple[float, float]] = []
    for share in shares:
        value = float(values[share * 100])
        if not found or value > found[-1][1] or share == shares[-1]:
            found.append((round(share, 9), value))
    return found
