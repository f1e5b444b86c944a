"""What the bands of modelled figures leave open about a ratio, where no test speaks.

A model has no repeats that scatter: its error is in its band. So the bands decide, in the words that tests have.
Different: no ratio that they leave open is 1. Equivalent: all of them lie within the margin. Undecided: otherwise,
and wherever the sides are of different provenance, as a measured side says nothing of what the model errs by.
"""

from __future__ import annotations

import math
from statistics import median

from assay.compare.judgement import Outcome
from assay.compare.line import Line
from assay.results import row
from assay.results.row import Row

APART, WITHIN, OVERLAP = "bands-apart", "bands-within-margin", "bands-overlap"
DECIDING = (APART, WITHIN, OVERLAP)
"""Reasons of an outcome that bands have decided, or left open."""


def judged(line: Line, margin: float) -> tuple[Outcome, str]:
    """Outcome and reason of a comparison that no test may speak about, as its sides are no samples."""
    found = of(line) if len(set(line.provenance)) == 1 else None
    if found is None or found[0] <= 0:
        return "undecided", "provenance"
    low, high = map(math.log, found)
    if max(abs(low), abs(high)) <= math.log1p(margin):
        return "equivalent", WITHIN
    return ("different", APART) if low > 0 or high < 0 else ("undecided", OVERLAP)


def of(line: Line) -> tuple[float, float] | None:
    """Lowest and highest ratio of B over A that the bands of modelled figures allow."""
    sides = [[_band(one, line.metric) for one in side] for side in zip(*((p.a, p.b) for p in line.pairs), strict=True)]
    if len(sides) != 2 or not line.mixed:
        return None
    (a_low, a_high), (b_low, b_high) = (
        (median(low for low, _ in side), median(high for _, high in side)) for side in sides
    )
    return (b_low / a_high, b_high / a_low) if a_low > 0 and a_high > 0 else None


def _band(one: Row, metric: str) -> tuple[float, float]:
    """Band of a figure; one that was measured is its own."""
    value = one.metric(metric) or 0.0
    head, _, tail = row.canonical(metric).rpartition("_")
    widths = (one.distribution(head) or {}).get("widths") if head else None
    if widths is not None:
        width = float((widths.get("tail") if tail.startswith("p99") else widths.get("latency")) or 0.0)
        return value / (1 + width), value * (1 + width)
    figure = one.result.get(row.canonical(metric))
    band = figure.get("band") if isinstance(figure, dict) else None
    return (float(band["low"]), float(band["high"])) if isinstance(band, dict) else (value, value)
