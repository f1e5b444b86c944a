"""A piece of advice: what a rule says of somebody's own records, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from assay.results import labels
from assay.results.group import Point
from assay.results.pick import ALONE
from assay.units import show
from assay.untyped import Json

Outcome = Literal["advised", "depends", "undecided", "no gain here", "no evidence"]

# A gain below this is not worth a change: machines wander by as much.
MARGIN = 1.05


@dataclass(frozen=True)
class Evidence:
    """A sentence with figures, and the records that they come from."""

    text: str
    records: tuple[str, ...]

    def document(self) -> Json:
        """As `--json` prints it."""
        return {"text": self.text.replace("\u00a0", " "), "records": list(self.records)}


@dataclass(frozen=True)
class Gain:
    """How many times better the advised side is, with a band; `metric` says in what, `kind` what the band is."""

    ratio: float
    low: float
    high: float
    metric: str
    kind: str
    provenance: str
    status: str
    some: bool = False
    """Of several settings together: at least one gains for sure, so that it depends on the setting."""

    @property
    def spans_one(self) -> bool:
        """Whether the band allows a gain and a loss: then the factor says nothing and is not printed."""
        return self.low <= 1.0 <= self.high

    @property
    def outcome(self) -> Outcome:
        """What the band allows to say."""
        if self.status == "invalid":
            return "no evidence"
        if self.low > MARGIN:
            return "advised"
        if self.high < MARGIN:
            return "no gain here"
        return "undecided" if self.spans_one and not self.some else "depends"

    @property
    def said(self) -> str:
        """In words; without a factor where the band spans one."""
        if self.spans_one:
            return f"not shown: these records allow {show.times(self.low)} to {show.times(self.high)} {self.metric}"
        return f"{show.times(self.ratio)} {self.metric} ({show.times(self.low)} to {show.times(self.high)})"

    def document(self) -> Json:
        """As `--json` prints it."""
        return {
            "ratio": self.ratio,
            "low": self.low,
            "high": self.high,
            "metric": self.metric,
            "band": self.kind,
            "provenance": self.provenance,
            "verdict": self.status,
        }


@dataclass(frozen=True)
class Trial:
    """Both sides as a paired comparison: a study with settings of each side, and the figure that is compared."""

    study: str
    a: Json
    b: Json
    settings: Json
    metric: str
    class_name: str
    profile: str = "quick"

    def command(self, on: str) -> str:
        """The same by hand."""
        import shlex

        words = ["assay", "compare", "--study", self.study, "--profile", self.profile, "--on", on]
        for flag, values in (("--set", self.settings), ("--a", self.a), ("--b", self.b)):
            words += [word for key, value in values.items() for word in (flag, f"{key}={value}")]
        return shlex.join([*words, "--metric", self.metric])


@dataclass(frozen=True)
class RuleFinding:
    """What a rule finds in records, before it is judged."""

    says: str
    evidence: tuple[Evidence, ...]
    gain: Gain | None = None
    outcome: Outcome | None = None
    trial: Trial | None = None


@dataclass(frozen=True)
class Advice:
    """A rule's answer for a folder of records."""

    rule: str
    title: str
    outcome: Outcome
    says: str
    gain: Gain | None
    evidence: tuple[Evidence, ...]
    source: str
    costs: str
    check: str
    wants: str
    trial: Trial | None = None

    @property
    def records(self) -> tuple[str, ...]:
        """Ids of all records behind it."""
        return tuple(dict.fromkeys(one for entry in self.evidence for one in entry.records))

    def document(self) -> Json:
        """As `--json` prints it."""
        return {
            "rule": self.rule,
            "title": self.title,
            "outcome": self.outcome,
            "says": self.says.replace("\u00a0", " "),
            "gain": self.gain.document() if self.gain else None,
            "evidence": [one.document() for one in self.evidence],
            "source": self.source,
            "costs": self.costs,
            "check": self.check,
            "to_get_evidence": self.wants,
        }


def gain(better: Point, worse: Point, metric: str, *, cost: bool = False) -> Gain:
    """How many times better one point is than another. `cost`: less is better (a time)."""
    over, under = (worse, better) if cost else (better, worse)
    ratio = over.value / under.value if under.value else 1.0
    low, high, kind = _band(over, under, ratio)
    status = labels.worst([better.status, worse.status])
    origins = [point.provenance for point in (better, worse) if point.provenance != "measured"]
    return Gain(ratio, low, high, metric, kind, origins[0] if origins else "measured", status)


def _band(over: Point, under: Point, ratio: float) -> tuple[float, float, str]:
    first, second = over.interval, under.interval
    if first is None or second is None or second.low <= 0 or second.high <= 0:
        return ratio / ALONE, ratio * ALONE, f"no interval: one run each, taken to be within {ALONE:g} times"
    return first.low / second.high, first.high / second.low, f"widest that both intervals allow ({first.kind})"


def joined(gains: Sequence[Gain]) -> Gain:
    """Several settings together: the gain in the middle, the band over all of them."""
    middle = sorted(gains, key=lambda one: one.ratio)[len(gains) // 2]
    kind = middle.kind if len(gains) == 1 else f"over {len(gains)} settings; {middle.kind}"
    status = labels.worst([one.status for one in gains])
    low, high = min(one.low for one in gains), max(one.high for one in gains)
    some = any(one.low > MARGIN for one in gains)
    return Gain(middle.ratio, low, high, middle.metric, kind, middle.provenance, status, some)
