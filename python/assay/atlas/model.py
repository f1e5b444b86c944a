"""What a page of the atlas holds."""

from __future__ import annotations

from dataclasses import dataclass, field

KINDS = ("drive", "volume", "instance", "memory", "part")


@dataclass(frozen=True)
class Fact:
    """A line of the sheet: who says so, and when."""

    name: str
    said: str
    kind: str
    source: str
    date: str


@dataclass(frozen=True)
class Price:
    """A price with its entry in the book."""

    said: str
    date: str
    kind: str
    source: str


@dataclass(frozen=True)
class Modelled:
    """A figure that the twin gives, with its own band."""

    id: str
    title: str
    said: str
    band: str


@dataclass(frozen=True)
class Twin:
    """The twin of a page: its figures, and how far it may be off."""

    name: str
    figures: tuple[Modelled, ...]
    error: tuple[Fact, ...]


@dataclass(frozen=True)
class SeenFigure:
    """A figure of a passport or a result folder, beside the twin where it has one."""

    id: str
    title: str
    said: str
    provenance: str
    verdict: str
    beside: str
    inside: bool | None


@dataclass(frozen=True)
class Taken:
    """Something that was measured: by whom, when, in which state, and whether to believe it."""

    who: str
    when: str
    what: str
    signature: str
    file: str
    badge: str
    figures: tuple[SeenFigure, ...]
    state: tuple[tuple[str, str, str], ...]
    limits: tuple[str, ...]
    counts: tuple[tuple[str, int], ...]
    findings: tuple[str, ...]


@dataclass
class AtlasPage:
    """One page."""

    slug: str
    title: str
    kind: str
    capacity: str = ""
    about: str = ""
    facts: list[Fact] = field(default_factory=list)
    prices: list[Price] = field(default_factory=list)
    twin: Twin | None = None
    taken: list[Taken] = field(default_factory=list)

    def first(self, figure: str) -> tuple[str, str]:
        """A figure with its provenance: what was measured goes before what is modelled; empty where there is none.

        Without its interval, which the page has.
        """
        seen = next((one for each in self.taken for one in each.figures if one.id == figure), None)
        if seen is not None:
            return seen.said.partition(" (")[0], seen.provenance
        guess = next((one for one in self.twin.figures if one.id == figure), None) if self.twin else None
        return (guess.said, "modelled") if guess is not None else ("", "")
