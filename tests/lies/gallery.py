"""The table of lies. Each is one entry: its name, how it is staged, and the reason that must appear."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from e2e.program import Outcome

from .room import Room

REFUSED = "refused"
"""In the place of a reason: there must be no record at all."""

Stage = Callable[[Room], Outcome]


@dataclass(frozen=True)
class Lie:
    """A way to bend a number."""

    name: str
    """What it is, as a file name."""
    how: str
    """How it is staged: one sentence."""
    reason: str
    """Code of the reason that must appear."""
    stage: Stage
    """Does it, and gives what Assay said."""
    says: str = ""
    """A word that the reason's evidence must hold, where the code alone would not show that this lie was seen."""
    awaits: str = ""
    """What the product lacks to see it; the test then expects that it goes by unseen."""
    group: str = ""


GALLERY: list[Lie] = []


def lie(name: str, how: str, reason: str, *, says: str = "", awaits: str = "") -> Callable[[Stage], Stage]:
    """Enters a stage into the table; its group is the module that it stands in."""

    def enter(stage: Stage) -> Stage:
        group = stage.__module__.rpartition(".")[2]
        GALLERY.append(Lie(name, how, reason, stage, says, awaits, group))
        return stage

    return enter
