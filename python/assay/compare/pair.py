"""Runs of both sides that belong together, and what keeps a pair out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from assay.results.row import Row
from assay.untyped import Json


@dataclass(frozen=True)
class Pair:
    """One run of each side. `number` is the repeat, from 1."""

    number: int
    a: Row
    b: Row

    @property
    def first(self) -> str:
        """The side that ran first."""
        return "A" if begun(self.a) <= begun(self.b) else "B"

    @property
    def span(self) -> tuple[float, float]:
        """From the start of the first run to the end of the second, seconds since the epoch."""
        rows = (self.a, self.b)
        return min(begun(one) for one in rows), max(begun(one) + _lasted(one) for one in rows)

    def log_ratio(self, metric: str) -> float | None:
        """Logarithm of B over A; none where a side has no value above zero."""
        a, b = self.a.metric(metric), self.b.metric(metric)
        return math.log(b / a) if a is not None and b is not None and a > 0 and b > 0 else None


@dataclass(frozen=True)
class Dropped:
    """A pair that does not count, the side at fault and why."""

    number: int
    side: str
    reason: str

    def document(self) -> Json:
        """As `--json` prints it."""
        return {"pair": self.number, "side": self.side, "reason": self.reason}


def begun(one: Row) -> float:
    """Start of a run, seconds since the epoch; 0 where the record does not say."""
    try:
        return datetime.fromisoformat(str(one.record["run"].get("started_at"))).timestamp()
    except ValueError:
        return 0.0


def _lasted(one: Row) -> float:
    wall = one.record["run"].get("wall_s")
    return float(wall) if isinstance(wall, (int, float)) else 0.0


def sorted_out(pairs: Sequence[Pair]) -> tuple[list[Pair], list[Dropped]]:
    """Pairs that count, in the order in which they ran, and those that do not."""
    dropped = [one for pair in pairs if (one := _fault(pair)) is not None]
    out = {one.number for one in dropped}
    kept = sorted((pair for pair in pairs if pair.number not in out), key=lambda pair: (pair.span[0], pair.number))
    return kept, dropped


def _fault(pair: Pair) -> Dropped | None:
    faults = [(side, reason) for side, one in (("A", pair.a), ("B", pair.b)) if (reason := against(one))]
    if not faults:
        return None
    side = "both" if len(faults) == 2 else faults[0][0]
    return Dropped(pair.number, side, faults[0][1])


def against(one: Row) -> str:
    """Why a record cannot take part: invalid, or cut short; empty where it can."""
    reasons = one.record["verdict"].get("reasons") or ()
    grave = next((reason for reason in reasons if reason.get("severity") == "invalid"), None)
    cut = next((reason for reason in reasons if reason.get("code") == "interrupted"), None)
    found = grave or cut
    if found is not None:
        return f"{found.get('code')}: {found.get('evidence')}"
    return "the record is invalid and does not say why" if one.status == "invalid" else ""


def suspicions(pairs: Sequence[Pair]) -> dict[str, int]:
    """Codes of what makes records suspect, with the number of records.

    That repeats of one side spread is left out: pairs are there to take that out.
    """
    found: dict[str, int] = {}
    for one in (one for pair in pairs for one in (pair.a, pair.b)):
        codes = {
            str(r.get("code")) for r in one.record["verdict"].get("reasons") or () if r.get("severity") == "suspect"
        }
        for code in codes - {"noisy-machine"}:
            found[code] = found.get(code, 0) + 1
    return found
