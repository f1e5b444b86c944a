"""What Assay said to each lie, kept for the page."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from assay.untyped import Json
from e2e.program import Outcome

from .gallery import Lie


@dataclass
class Said:
    """Takes outcomes, in the order in which they come."""

    lies: list[Json] = field(default_factory=list)
    machine: Json = field(default_factory=dict)

    def __call__(self, entry: Lie, outcome: Outcome) -> None:
        """Keeps the reasons of one lie."""
        kept = {"name": entry.name, "group": entry.group, "wanted": entry.reason, "exit": outcome.code}
        if outcome.last["event"] != "finished":
            self.lies.append(kept | {"refused": outcome.last})
            return
        self.machine = self.machine or outcome.record["environment"]
        self.lies.append(kept | {"verdict": outcome.record["verdict"]})

    def write(self, file: Path) -> None:
        """As JSON."""
        file.write_text(json.dumps({"machine": self.machine, "lies": self.lies}, indent=1))
