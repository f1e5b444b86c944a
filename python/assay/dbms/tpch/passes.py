"""Passes of TPC-H: one target under one protocol."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from assay.dbms.cold import Cleared
from assay.dbms.target import Counters, DatabaseTarget
from assay.dbms.tpch.sample import Sample


@dataclass
class Pass:
    """One target under one protocol, and what was seen there so far."""

    place: DatabaseTarget
    folder: Path
    protocol: str
    counters: Counters
    samples: dict[str, Sample] = field(default_factory=dict)
    cleared: Cleared | None = None
    warmed: str = ""
    emptied: str = ""
    broke: str = ""

    @property
    def times(self) -> dict[str, list[float]]:
        """Seconds of every run, by query."""
        return {name: sample.seconds for name, sample in self.samples.items()}

    @property
    def done(self) -> list[Sample]:
        """Queries that have at least one run."""
        return [sample for sample in self.samples.values() if sample.runs]
