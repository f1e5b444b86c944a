"""Correction for many comparisons.

Holm by default: it holds the chance of even one false alarm among all comparisons, whatever their dependence, and the
metrics of one run depend on each other heavily. Benjamini and Hochberg's holds only the expected share of false alarms
among the alarms, and only under positive dependence: it finds more, for exploring.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

Method = Literal["holm", "bh"]

NAMES: dict[str, str] = {
    "holm": "Holm: at most 5 % for even one false alarm among all comparisons",
    "bh": "Benjamini-Hochberg: at most 5 % of the alarms are expected to be false",
}


def adjusted(p_values: Sequence[float], method: Method = "holm") -> list[float]:
    """Adjusted probabilities in the order given; compare each with the level itself."""
    if not p_values:
        return []
    if method == "bh":
        from scipy import stats

        return [float(value) for value in stats.false_discovery_control(p_values, method="bh")]
    return _holm(p_values)


def _holm(p_values: Sequence[float]) -> list[float]:
    """Holm, A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of Statistics 1979."""
    values = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    scaled = values[order] * np.arange(len(values), 0, -1)
    found = np.empty_like(values)
    found[order] = np.minimum(1.0, np.maximum.accumulate(scaled))
    return [float(value) for value in found]
