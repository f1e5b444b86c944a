"""Databases that run inside the driver: files in folders, a folder for each part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from assay.binary import Binary
from assay.dbms.place import Place, clean
from assay.dbms.postgres.cluster import copy_tree
from assay.dbms.target import DatabaseTarget, target_of
from assay.dbms.tpcc.bench import Bench, ServerSnapshot, bytes_of, site
from assay.dbms.tpcc.order import TpccFlags
from assay.record import WorkRecord
from assay.study.work import figure
from assay.untyped import Json

# What makes a commit durable, by what --synchronous says.
DURABLE = {"full": "fdatasync", "off": "none"}


@dataclass(frozen=True)
class _Copy:
    """Copies of all parts, each on the target of its part."""

    places: Mapping[str, Place]

    def remove(self) -> None:
        for place in self.places.values():
            place.remove()


class FileBench(Bench):
    """Files in a folder of ours for each part."""

    roles: tuple[str, ...] = ("data",)

    def __init__(self, order: TpccFlags, binary: Binary, target: DatabaseTarget) -> None:
        self.name = target.name
        self._order = order
        self._targets = {"data": target}
        for role in self.roles[1:]:
            if getattr(order, role):
                self._targets[role] = target_of(binary, getattr(order, role))
        for one in self._targets.values():
            clean(one.folder)
        self._places = self._make()
        for role in self._places:
            self._folder(role).mkdir()

    def _make(self) -> dict[str, Place]:
        made: dict[str, Place] = {}
        try:
            for role, target in self._targets.items():
                made[role] = Place.make(target.folder)
        except BaseException:
            _Copy(made).remove()
            raise
        return made

    def _folder(self, role: str) -> Path:
        """Where a part lies: with the data, unless it has a target of its own."""
        return self._places[role if role in self._places else "data"].path / role

    def _file(self, role: str, name: str) -> Path:
        return self._folder(role if role in self._places else "data") / name

    def sites(self) -> list[Json]:
        return [site(role, one, self._folder(role)) for role, one in self._targets.items()]

    def snapshot(self) -> ServerSnapshot | None:
        copy = _Copy(self._make())
        try:
            for role, place in copy.places.items():
                copy_tree(self._folder(role), place.path / role)
        except BaseException:
            copy.remove()
            raise
        return copy

    def restore(self, snapshot: ServerSnapshot) -> None:
        if isinstance(snapshot, _Copy):
            for role, place in snapshot.places.items():
                self._places[role].remove_inside(role)
                copy_tree(place.path / role, self._folder(role))

    def account(self, record: WorkRecord, before: Mapping[str, float]) -> None:
        del before
        sizes = {role: bytes_of(self._folder(role)) for role in self._targets}
        record["figures"]["database_bytes"] = figure(sum(sizes.values()), "bytes", method="kernel-accounting")
        for role, size in sizes.items():
            record["figures"][f"{role}_bytes"] = figure(size, "bytes", method="kernel-accounting")

    def remove(self) -> None:
        _Copy(self._places).remove()


class SqliteBench(FileBench):
    """A file of SQLite's; its log lies beside it."""

    def store(self) -> Json:
        options: Json = {"path": str(self._file("data", "tpcc.sqlite")), "synchronous": self._order.synchronous}
        if self._order.buffers is not None:
            options["cache_bytes"] = self._order.buffers
        return {"sqlite": options}


class AssayBench(FileBench):
    """Assay's own storage engine: a file of pages, and one of the log."""

    roles = ("data", "wal")

    def store(self) -> Json:
        options: Json = {
            "data": str(self._file("data", "pages")),
            "log": str(self._file("wal", "log")),
            "durability": DURABLE[self._order.synchronous],
        }
        if self._order.buffers is not None:
            options["pool_bytes"] = self._order.buffers
        return {"assay": options}
