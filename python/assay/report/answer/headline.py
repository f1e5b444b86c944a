"""The whole run in a sentence: what a read, a commit and a scan cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from assay.report.answer.model import Answer, Number, Part
from assay.results import pick
from assay.units import show

_TOPICS = ("latency", "commit", "scan")


def find(answers: Sequence[Answer]) -> Answer | None:
    """The sentence; the first answer stands for it where the run has neither a read, a commit nor a scan."""
    named = {one.topic: one for one in answers}
    told = [(topic, named[topic]) for topic in _TOPICS if topic in named and named[topic].numbers]
    if not told:
        return next((one for one in answers if one.topic != "trust"), None)
    parts: list[Part] = []
    for topic, one in told:
        parts += [_joint(len(parts), topic == told[-1][0]), *_clause(topic, one)]
    text = [part for part in parts if part] + ["."]
    sources = tuple(dict.fromkeys(row for _, one in told for row in one.sources))
    return Answer("headline", "", _capital(text), "", sources)


def _joint(begun: int, last: bool) -> str:
    return "" if not begun else ", and " if last else ", "


def _clause(topic: str, one: Answer) -> list[Part]:
    size = show.block(float(pick.size(one.sources[0]) or 0)) if one.sources and pick.size(one.sources[0]) else ""
    first = _short(one.numbers[0])
    if topic == "latency":
        return [f"a random {size} read takes ", first]
    if topic == "commit":
        return [f"a durable {size} write ", first] if size else ["a durable write takes ", first]
    return ["scans reach ", first]


def _short(one: Number) -> Number:
    """Without its interval, which the answer below has."""
    return replace(one, bounds="")


def _capital(parts: Sequence[Part]) -> tuple[Part, ...]:
    first = parts[0]
    return (first[:1].upper() + first[1:], *parts[1:]) if isinstance(first, str) else tuple(parts)
