"""One comparison: one metric of one class of one cell, B over A."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median

from assay.compare.conditions import Difference
from assay.compare.design import Design
from assay.compare.judgement import Evidence, Judgement
from assay.compare.pair import Dropped, Pair
from assay.results import row
from assay.untyped import Json

# Provenances whose repeats scatter as runs do; anything else is not sampled, and no test speaks about it.
SAMPLED = ("measured", "emulated")


@dataclass(frozen=True)
class Line:
    """A comparison with all that is known of it. `judgement` is there where a test may speak."""

    cell: str
    class_name: str
    metric: str
    pairs: tuple[Pair, ...]
    dropped: tuple[Dropped, ...]
    design: Design
    provenance: tuple[str, str]
    alone: Mapping[str, int]
    suspect: Mapping[str, int] = field(default_factory=dict)
    asked: tuple[Difference, ...] = ()
    outcome: str = "undecided"
    reason: str = "no-pairs"
    evidence: Evidence | None = None
    judgement: Judgement | None = None

    @property
    def name(self) -> str:
        """Cell, class and metric."""
        return f"{self.cell}, {self.class_name}, {row.metric_title(self.metric)}"

    @property
    def cost(self) -> bool:
        """Whether less is better."""
        return row.is_cost(self.metric)

    @property
    def log_ratios(self) -> list[float]:
        """Of each pair, in time order."""
        return [value for pair in self.pairs if (value := pair.log_ratio(self.metric)) is not None]

    @property
    def ratio(self) -> float | None:
        """Median ratio, B over A."""
        values = self.log_ratios
        return math.exp(median(values)) if values else None

    @property
    def bounds(self) -> tuple[float, float] | None:
        """95 % interval of the median ratio."""
        found = self.evidence.interval if self.evidence is not None else None
        return (math.exp(found.low), math.exp(found.high)) if found is not None else None

    @property
    def better(self) -> str:
        """The side with the better median; empty where both are equal."""
        ratio = self.ratio
        if ratio is None:
            return ""
        times = 1 / ratio if self.cost else ratio
        return "B" if times > 1 else "A" if times < 1 else ""

    @property
    def mixed(self) -> bool:
        """Whether the sides are of different provenance, or of one that is not sampled."""
        return len(set(self.provenance)) > 1 or self.provenance[0] not in SAMPLED

    def medians(self) -> tuple[float | None, float | None]:
        """Median of each side in the metric's unit."""
        sides = ([pair.a for pair in self.pairs], [pair.b for pair in self.pairs])
        found = [[value for one in rows if (value := one.metric(self.metric)) is not None] for rows in sides]
        a, b = (median(values) if values else None for values in found)
        return a, b

    def document(self, sentence: str) -> Json:
        """As `--json` prints it."""
        a, b = self.medians()
        return {
            "cell": self.cell,
            "class": self.class_name,
            "metric": self.metric,
            "unit": row.unit(self.metric),
            "less_is_better": self.cost,
            "outcome": self.outcome,
            "reason": self.reason,
            "better": self.better,
            "sentence": sentence,
            "a": a,
            "b": b,
            "ratio": self.ratio,
            "low": self.bounds[0] if self.bounds else None,
            "high": self.bounds[1] if self.bounds else None,
            "pairs": len(self.log_ratios),
            **_tested(self.evidence, self.judgement),
            "design": self.design.kind,
            "provenance": {"a": self.provenance[0], "b": self.provenance[1]},
            "runs_without_partner": dict(self.alone),
            "dropped": [one.document() for one in self.dropped],
            "suspect": dict(self.suspect),
            "asked_differently": [one.document() for one in self.asked],
            "log_ratios": [_pair(pair, self.metric) for pair in self.pairs],
        }


def _tested(evidence: Evidence | None, judgement: Judgement | None) -> Json:
    return {
        "p_different": evidence.p_different if evidence and judgement else None,
        "p_different_corrected": judgement.p_different if judgement else None,
        "p_equivalent_corrected": judgement.p_equivalent if judgement else None,
        "block_of_pairs": evidence.block if evidence else None,
        "likeness_of_neighbours": evidence.likeness if evidence else None,
        "pairs_needed": evidence.needed if evidence else None,
    }


def _pair(pair: Pair, metric: str) -> Json:
    return {
        "pair": pair.number,
        "first": pair.first,
        "value": pair.log_ratio(metric),
        "a": pair.a.cell.id,
        "b": pair.b.cell.id,
    }
