"""The runs behind what a study's claims say: each with what was asked of it and what every stream gave."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from assay.claim.answer import Answers, RunAnswer
from assay.claim.model import ClaimStream, ClaimStudy
from assay.claim.question import SweepPoint, points
from assay.claim.take import names
from assay.untyped import Json

Side = Literal["twin", "here"]


def runs(study: ClaimStudy, answers: Answers, side: Side) -> Iterator[Json]:
    """Each run that was answered, with its points in the order of its sweep.

    Metrics are bare numbers: bandwidth in bytes/s, rate in 1/s, times in ns.
    """
    asked: dict[str, list[SweepPoint]] = {}
    for point in points(study, set(answers.runs)):
        asked.setdefault(point.run, []).append(point)
    for name, found in answers.runs.items():
        pairs = zip(asked[name], found, strict=True)
        yield {"run": name, "side": side, "points": [_point(point, answer) for point, answer in pairs]}


def used(texts: Sequence[str]) -> list[str]:
    """Names of the runs that expressions take something from, in their order."""
    return list(dict.fromkeys(name.split(".", maxsplit=1)[0] for text in texts for name in names(text)))


def _point(point: SweepPoint, answer: RunAnswer) -> Json:
    streams = {name: _metrics(answer, name) for name in point.streams if name in answer.streams}
    found: Json = {
        "on": answer.place or point.hardware,
        "path": point.settings.path,
        "asked": {name: _asked(point, stream) for name, stream in point.streams.items()},
        "streams": streams,
    }
    extra = {"refused": answer.refused, "verdict": answer.status}
    return found | {key: text for key, text in extra.items() if text}


def _metrics(answer: RunAnswer, stream: str) -> dict[str, float]:
    return {name: value.number for name, value in answer.streams[stream].metrics.items()}


def _asked(point: SweepPoint, stream: ClaimStream) -> str:
    """A stream in words: operation, pattern, size, threads and depth, and what sets a pace."""
    kind = f"mix of {stream.write_percent} % writes" if stream.op == "mix" else stream.op
    parts = [f"{stream.pattern} {kind}", stream.size, f"threads {stream.threads or point.settings.threads or 1}"]
    parts += [f"depth {stream.depth}"] if stream.depth > 1 else []
    parts += [f"at {stream.rate}"] if stream.rate else []
    parts += [stream.durability] if stream.op != "read" and stream.durability != "none" else []
    return ", ".join(part for part in parts if part)
