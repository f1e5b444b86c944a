"""What TPC-C is driven on: a database on a target, with its copy and its accounts."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

from assay.binary import Binary
from assay.dbms.target import DatabaseTarget
from assay.record import WorkRecord
from assay.untyped import Json


class ServerSnapshot(Protocol):
    """A copy of a database that is not touched."""

    def remove(self) -> None:
        """Removes it."""


class Bench(ABC):
    """A database on a target: its job for the driver, its copy, its accounts."""

    name: str

    def program(self, binary: Binary) -> Binary:
        """The program that drives it: the measuring program, but for engines that are built apart."""
        return binary

    @abstractmethod
    def store(self) -> Json:
        """The database, as the driver is told."""

    @abstractmethod
    def sites(self) -> list[Json]:
        """Where its parts lie."""

    def snapshot(self) -> ServerSnapshot | None:
        """Stops it and keeps a copy of what it holds; none where it cannot."""
        return None

    @abstractmethod
    def restore(self, snapshot: ServerSnapshot) -> None:
        """Makes it what the copy is."""

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """It serves meanwhile."""
        yield

    @contextlib.contextmanager
    def explained(self) -> Iterator[None]:
        """Errors tell of a server that ended."""
        yield

    def listens(self) -> str:
        """Where others may reach a server of our own: a sentence; empty where nobody else can."""
        return ""

    def server_pid(self) -> int | None:
        """Its first process; none where it runs inside the driver or elsewhere."""
        return None

    def engine_counts(self) -> Mapping[str, float]:
        """Its own counts; empty where it has none."""
        return {}

    @abstractmethod
    def account(self, record: WorkRecord, before: Mapping[str, float]) -> None:
        """Adds what it counted itself to the record."""

    @abstractmethod
    def remove(self) -> None:
        """Removes what it made."""


def site(role: str, target: DatabaseTarget, path: Path) -> Json:
    """A part's place, as the driver is told."""
    return {"role": role, "target": target.name, "path": str(path), "emulated": target.in_memory}


def bytes_of(folder: Path) -> int:
    """Bytes of a folder's files as they lie on the disk, holes left out."""
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):  # A file may go away meanwhile.
            total += path.lstat().st_blocks * 512 if path.is_file() and not path.is_symlink() else 0
    return total
