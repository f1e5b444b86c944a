"""A run of TPC-H that is under way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assay.binary import Binary
from assay.dbms.target import DatabaseTarget
from assay.dbms.tpch import check
from assay.dbms.tpch.engine import Engine, Loaded, PlanNode
from assay.dbms.tpch.order import TpchFlags
from assay.dbms.workspace import Workspace

Listener = Callable[[str], None]


@dataclass
class Job:
    """A run that is under way."""

    order: TpchFlags
    binary: Binary
    places: Sequence[DatabaseTarget]
    spaces: Sequence[Workspace]
    engine: Engine
    listen: Listener
    folders: list[Path] = field(default_factory=list)
    loaded: Loaded | None = None
    source: str = ""
    reference: check.Reference | None = None
    nodes: dict[tuple[Path, str], PlanNode | None] = field(default_factory=dict)
