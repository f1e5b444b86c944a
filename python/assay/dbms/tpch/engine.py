"""What a run of TPC-H needs of an engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from assay.dbms.sqlserver.settings import Settings
from assay.dbms.tpch.answers import Row
from assay.dbms.tpch.data import Files
from assay.dbms.tpch.dialect import Dialect


@dataclass(frozen=True)
class QueryPlan:
    """How an engine means to run a query. The hash leaves out estimates, so that equal plans have equal ones."""

    hash: str
    text: str


@dataclass(frozen=True)
class PlanNode:
    """The plan node that took the largest part of the time, in a run of its own on warm data."""

    name: str
    share: float
    pattern: str = ""
    """`sequential` or `random`, where the node reads a table; empty otherwise."""


@dataclass(frozen=True)
class QueryRun:
    """One run of a query, to the last row.

    `cpu_s` is of the engine alone, `read_bytes` and `written_bytes` what the kernel moved from and to devices for it.
    `wait_s` is time in which the thread that runs the query neither ran nor waited for a CPU; none where the engine
    does not tell. `buffer_bytes` is what it read through its own buffer.
    """

    seconds: float
    rows: list[Row]
    cpu_s: float
    read_bytes: float
    written_bytes: float
    wait_s: float | None = None
    wait_method: str = "kernel-accounting"
    buffer_bytes: float | None = None
    extra: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Loaded:
    """What loading took, by phase, s; and the bytes that it left, in all and where its parts lie apart by part."""

    seconds: dict[str, float]
    bytes: int
    parts: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class QueryWish:
    """What was asked of an engine. `temp`, `wal` and `index` are folders, `connect` names a server that runs."""

    name: str = "duckdb"
    temp: Path | None = None
    wal: Path | None = None
    index: Path | None = None
    limit_s: float = 3600.0
    buffers_bytes: int | None = None
    pg_bin: Path | None = None
    pg_settings: Sequence[str] = ()
    freeze_costs: bool = False
    connect: str = ""
    evict: bool = False
    """Cold without a restart: buffers are emptied while the server runs."""
    sqlserver: Settings | None = None


class Engine(Protocol):
    """A database in a folder. `load` fills a folder; `start` and `stop` serve one that was filled, or its copy."""

    name: str
    dialect: Dialect
    version: str
    workers: int

    def settings(self) -> dict[str, Any]:
        """Every parameter that bears on the figures."""

    def load(self, files: Files, folder: Path) -> Loaded:
        """Fills an empty folder."""

    def copy(self, source: Path, folder: Path) -> None:
        """Fills an empty folder with what another one has, byte by byte."""

    def folders(self, folder: Path) -> Sequence[Path]:
        """Where everything lies that must be cold."""

    def start(self, folder: Path) -> None:
        """Begins to serve a folder, with caches of its own empty."""

    def stop(self) -> None:
        """Ends serving; nothing stays open. Does nothing where nothing runs."""

    def kill(self) -> None:
        """Ends serving at once."""

    def close(self) -> None:
        """Ends serving, and removes what it made outside of the folders that it was given."""

    def warm(self) -> str:
        """Fills the engine's own buffer; says what it did. Empty where it has no way to."""

    def plan(self, sql: str) -> QueryPlan:
        """The plan of a query."""

    def run(self, sql: str) -> QueryRun:
        """Runs a query."""

    def profile(self, sql: str) -> PlanNode | None:
        """Runs a query and says which node dominates; none where the engine does not tell."""


@runtime_checkable
class Emptied(Protocol):
    """An engine that can empty its buffer while it runs."""

    def empty(self, folder: Path) -> str:
        """Empties it, serving a folder; says what was done."""
