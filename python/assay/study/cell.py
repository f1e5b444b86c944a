"""A cell of a study: one run, planned."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.document.identifier import Identifier
from assay.study.work import kind


@dataclass(frozen=True)
class Refusal:
    """Why a cell cannot be measured here, and what would make it possible."""

    reason: str
    fix: str

    def document(self) -> dict[str, str]:
        """As it stands in plan.json."""
        return {"reason": self.reason, "fix": self.fix}


@dataclass(frozen=True)
class Cell:
    """One run: what to do and what it costs.

    `seconds` is the expected time in all, `bytes_written` what is written at most, preparation included;
    `order` is its place in the run; `files` says which data it needs: bytes by (target, data set, file).
    """

    id: str
    study: str
    scenario: str
    repeat: int
    factors: dict[str, Any]
    job: dict[str, Any]
    seconds: float = 0.0
    bytes_written: int = 0
    refusal: Refusal | None = None
    estimate: str = "assumed"
    order: int = 0
    files: dict[tuple[str, str, int], int] = field(default_factory=dict)
    program: tuple[str, ...] = ()
    """Words of the measuring program that does the job, or the kind of work that is driven from Python; none where it
    is classes of I/O."""

    def __post_init__(self) -> None:
        """Records are named after it: a name that leads elsewhere is refused, whoever wrote it."""
        Identifier.parse(self.id, "name of a cell")

    @property
    def driven(self) -> bool:
        """Whether it is driven from Python."""
        return kind.driven(self.program)

    @property
    def group(self) -> str:
        """What repeats of one cell have in common: the id without the repeat."""
        return self.id.rpartition("-r")[0]

    def record_in(self, directory: Path) -> Path:
        """Where its record lies in a result folder."""
        return directory / ("work" if self.program else "records") / f"{self.id}.json"

    def document(self) -> dict[str, Any]:
        """As it stands in plan.json."""
        document: dict[str, Any] = {
            "id": self.id,
            "study": self.study,
            "scenario": self.scenario,
            "repeat": self.repeat,
            "factors": self.factors,
            "job": self.job,
            "seconds": round(self.seconds, 3),
            "bytes_written": self.bytes_written,
            "estimate": self.estimate,
            "order": self.order,
        }
        if self.refusal:
            document["refusal"] = self.refusal.document()
        if self.program:
            document["program"] = list(self.program)
        return document

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Cell:
        """From plan.json. What data it needs is not kept there."""
        refusal = document.get("refusal")
        return cls(
            id=document["id"],
            study=document["study"],
            scenario=document["scenario"],
            repeat=document["repeat"],
            factors=document["factors"],
            job=document["job"],
            seconds=document["seconds"],
            bytes_written=document["bytes_written"],
            refusal=Refusal(**refusal) if refusal else None,
            estimate=document["estimate"],
            order=document["order"],
            program=tuple(map(str, document.get("program", ()))),
        )
