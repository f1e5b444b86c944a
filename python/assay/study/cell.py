"""A cell of a study: one run, planned."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from assay.document.identifier import Identifier


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

    def __post_init__(self) -> None:
        """Records are named after it: a name that leads elsewhere is refused, whoever wrote it."""
        Identifier.parse(self.id, "name of a cell")

    @property
    def group(self) -> str:
        """What repeats of one cell have in common: the id without the repeat."""
        return self.id.rpartition("-r")[0]

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
        )
