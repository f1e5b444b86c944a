"""Passes of TPC-H: every query once, on one target under one protocol."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay.binary import Binary
from assay.dbms.cold import Cleared
from assay.dbms.target import Counters, DatabaseTarget, names_of
from assay.dbms.tpch.check import Reference
from assay.dbms.tpch.engine import Engine, Loaded
from assay.dbms.tpch.order import TpchFlags
from assay.dbms.tpch.sample import Sample


@dataclass(frozen=True)
class QueryGround:
    """What passes over a database have in common."""

    order: TpchFlags
    binary: Binary
    engine: Engine
    loaded: Loaded
    source: str
    """What its data were checked by."""
    reference: Reference
    plans: dict[str, tuple[str, str]]
    """Where plans of queries were seen first, and their hashes; none with a single target."""


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
