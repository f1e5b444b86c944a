"""An answer: a sentence whose numbers know the record they come from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from assay.results import labels, row
from assay.results.group import Point
from assay.results.row import Row
from assay.units import show


@dataclass(frozen=True)
class Number:
    """A figure in a sentence."""

    text: str
    bounds: str
    how_sure: str
    anchor: str
    status: str
    provenance: str

    @property
    def plain(self) -> str:
        """For a terminal."""
        origin = "" if self.provenance == "measured" else f" [{self.provenance}]"
        return self.text + (f" ({self.bounds})" if self.bounds else "") + origin


Part = str | Number


@dataclass(frozen=True)
class Answer:
    """What a run says about one question."""

    topic: str
    question: str
    parts: tuple[Part, ...]
    caveat: str = ""
    sources: tuple[Row, ...] = field(default=(), repr=False)

    @property
    def plain(self) -> str:
        """The answer for a terminal."""
        text = "".join(part if isinstance(part, str) else part.plain for part in self.parts)
        opening = {"suspect": " Suspect: ", "invalid": " Not to be relied on: "}.get(self.standing, " ")
        return (text + (opening + self.caveat if self.caveat else "")).replace("\u00a0", " ")

    @property
    def numbers(self) -> tuple[Number, ...]:
        """The figures of the sentence."""
        return tuple(part for part in self.parts if isinstance(part, Number))

    @property
    def status(self) -> str:
        """Gravest verdict among the figures."""
        return labels.worst([number.status for number in self.numbers])

    @property
    def standing(self) -> str:
        """Gravest verdict among the records, those included that no figure comes from."""
        return labels.worst([one.status for one in self.sources])

    @property
    def mixed(self) -> bool:
        """Whether some figures stand better than others, so that each needs its own mark."""
        return len({number.status for number in self.numbers}) > 1


def number(point: Point, say: Callable[[float], str] | None = None, *, bounds: bool = True) -> Number:
    """A point in words, with its interval."""
    unit = row.unit(point.metric)
    found, interval = "", point.interval
    if interval is not None and bounds and say is None:
        found = show.span(interval.low, interval.high, unit)
        found = "" if interval.low == interval.high else found
    sure = interval.kind if interval is not None else "one run, no interval"
    weak = "; fewer than 100 operations lie beyond this percentile" if point.weak else ""
    text = ("\u2265 " if point.at_least else "") + (say or (lambda value: show.figure(value, unit)))(point.value)
    return Number(text, found, sure + weak, point.anchor, point.status, point.provenance)


def derived(text: str, over: Point, under: Point) -> Number:
    """A ratio of two points: it links to the first and is no better than the worse of the two."""
    status = labels.worst([over.status, under.status])
    source = over.provenance if over.provenance != "measured" else under.provenance
    return Number(text, "", "ratio of two figures", over.anchor, status, source)


def answer(topic: str, question: str, parts: Sequence[Part], points: Sequence[Point]) -> Answer:
    """An answer, with the gravest thing that stands against its records."""
    sources = tuple(dict.fromkeys(one for point in points for one in point.rows))
    return Answer(topic, question, tuple(parts), caveat(sources), sources)


def caveat(sources: Sequence[Row]) -> str:
    """The gravest reason against any of the records; empty where all are valid."""
    status = labels.worst([one.status for one in sources])
    if status == "valid":
        return ""
    reasons = [
        reason
        for one in sources
        for reason in one.record["verdict"].get("reasons") or ()
        if reason.get("severity") == status
    ]
    evidence = str(reasons[0].get("evidence") or "") if reasons else ""
    return labels.sentence(evidence) or f"A record behind this is {status}, and does not say why."
