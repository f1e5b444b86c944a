"""What a recording or a file came to."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay.trace.classes import TracedClass
from assay.untyped import Json


@dataclass
class FoundServer:
    """Classes, how they were seen, and what to know of it."""

    means: str
    seconds: float
    classes: list[TracedClass]
    buffered: bool = False
    stopped: str = ""
    tried: dict[str, str] = field(default_factory=dict)
    cannot_know: list[str] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)
    facts: Json = field(default_factory=dict)
