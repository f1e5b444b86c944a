"""Passes of TPC-H: every query once, on one target under one protocol."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay.dbms.cold import Cleared
from assay.dbms.target import Counters, DatabaseTarget, names_of
from assay.dbms.tpch.sample import Sample


@dataclass
class Pass:
    """One target under one protocol, and what was seen there so far."""

    place: DatabaseTarget
    protocol: str
    samples: dict[str, Sample] = field(default_factory=dict)
    cleared: Cleared | None = None
    warmed: str = ""
    emptied: str = ""
    interrupted: bool = False
    broke: str = ""
    """Why the engine ended in its midst."""

    def __post_init__(self) -> None:
        self.counters = Counters(names_of([self.place]))

    @property
    def done(self) -> list[Sample]:
        """Queries that ran to their last row."""
        return [sample for sample in self.samples.values() if sample.run is not None]
