"""A run of TPC-H that is under way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assay.binary import Binary
from assay.dbms.target import Target
from assay.dbms.tpch import check
from assay.dbms.tpch.engine import Engine, Loaded, Node
from assay.dbms.tpch.order import Order
from assay.dbms.workspace import Workspace

Listener = Callable[[str], None]


@dataclass
class Job:
    """A run that is under way."""

    order: Order
    binary: Binary
    places: Sequence[Target]
    spaces: Sequence[Workspace]
    engine: Engine
    listen: Listener
    folders: list[Path] = field(default_factory=list)
    loaded: Loaded | None = None
    source: str = ""
    reference: check.Reference | None = None
    nodes: dict[tuple[Path, str], Node | None] = field(default_factory=dict)
