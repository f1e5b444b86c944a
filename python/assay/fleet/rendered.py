"""What is to be run on hosts that a cluster's own scheduler hands out, and the command that runs it there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from assay import home
from assay.document.identifier import Identifier
from assay.study import source as studies


@dataclass(frozen=True)
class RenderedRun:
    """A study with its settings, as `assay fleet run` is told them."""

    study: str
    on: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    profile: str = ""
    repeats: int = 0
    seed: int = 1

    @property
    def name(self) -> str:
        """The study's name, such as a name of a file may be."""
        return Identifier.parse(Path(self.study).stem, "name of a study")

    @property
    def file(self) -> Path | None:
        """The study's file; none where it is one of Assay's own, which every host has."""
        found = studies.find(self.study)
        return None if found.parent == home.studies() else found.resolve()

    def words(self, study: str) -> list[str]:
        """`assay fleet run STUDY` with its settings, without what says where the hosts are."""
        found = ["assay", "fleet", "run", study]
        found += [word for one in self.on for word in ("--on", one)]
        found += [word for one in self.settings for word in ("--set", one)]
        found += ["--profile", self.profile] if self.profile else []
        found += ["--repeats", str(self.repeats)] if self.repeats else []
        return [*found, "--seed", str(self.seed)]
