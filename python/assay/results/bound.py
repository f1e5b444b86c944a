"""Latencies of which only a lower bound is known: operations that were due and never ended may move them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.units import show

_MOVED = ("mean_ns", "max_ns")


def at_least(latency: Mapping[str, Any], name: str) -> bool:
    """Whether a figure of a distribution (`p99_ns`) is a lower bound."""
    bound = latency.get("at_least")
    if not isinstance(bound, Mapping):
        return False
    return name in _MOVED or float(latency.get(name) or 0.0) >= float(bound["from_ns"])


def time(latency: Mapping[str, Any], name: str) -> str:
    """The figure for people, with a sign where it is a lower bound."""
    sign = "\u2265 " if at_least(latency, name) else ""
    return sign + show.time(float(latency.get(name) or 0.0))
