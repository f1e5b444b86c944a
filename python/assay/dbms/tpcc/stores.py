"""The databases that TPC-C is driven on, each in folders of its own on one target."""

from __future__ import annotations

import contextlib
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.binary import Binary
from assay.dbms.place import Place, clean
from assay.dbms.postgres import Cluster, External, Layout, PostgresError, Server, find, statistics, tuned
from assay.dbms.postgres.cluster import TABLESPACES, copy_tree
from assay.dbms.postgres.settings import WATCHED, hardware, parse
from assay.dbms.target import Target, target_of
from assay.dbms.tpcc.order import Order
from assay.work import figure

Json = dict[str, Any]
Snapshot = Cluster | Place
"""A copy of a database that is not touched."""


class Bench(ABC):
    """A database on a target: its job for the driver, its copy, its accounts."""

    name: str

    @abstractmethod
    def store(self) -> Json:
        """The database, as the driver is told."""

    @abstractmethod
    def sites(self) -> list[Json]:
        """Where its parts lie."""

    def snapshot(self) -> Snapshot | None:
        """Stops it and keeps a copy of what it holds; none where it cannot."""
        return None

    @abstractmethod
    def restore(self, snapshot: Snapshot) -> None:
        """Makes it what the copy is."""

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """It serves meanwhile."""
        yield

    @contextlib.contextmanager
    def explained(self) -> Iterator[None]:
        """Errors tell of a server that ended."""
        yield

    def server_pid(self) -> int | None:
        """Its first process; none where it runs inside the driver or elsewhere."""
        return None

    def engine_counts(self) -> Mapping[str, float]:
        """Its own counts; empty where it has none."""
        return {}

    @abstractmethod
    def account(self, record: Json, before: Mapping[str, float]) -> None:
        """Adds what it counted itself to the record."""

    @abstractmethod
    def remove(self) -> None:
        """Removes what it made."""


class SqliteBench(Bench):
    """A file of SQLite's; its log lies beside it."""

    def __init__(self, order: Order, binary: Binary, target: Target) -> None:
        del binary
        self.name = target.name
        self._order, self._target = order, target
        clean(target.folder)
        self._place = Place.make(target.folder)

    @property
    def _file(self) -> Path:
        return self._place.path / "data" / "tpcc.sqlite"

    def store(self) -> Json:
        self._file.parent.mkdir(exist_ok=True)
        options: Json = {"path": str(self._file), "synchronous": self._order.synchronous}
        if self._order.buffers is not None:
            options["cache_bytes"] = self._order.buffers
        return {"sqlite": options}

    def sites(self) -> list[Json]:
        return [_site("data", self._target, self._place.path)]

    def snapshot(self) -> Snapshot | None:
        copy = Place.make(self._target.folder)
        copy_tree(self._file.parent, copy.path / "data")
        return copy

    def restore(self, snapshot: Snapshot) -> None:
        if isinstance(snapshot, Place):
            shutil.rmtree(self._file.parent, ignore_errors=True)
            copy_tree(snapshot.path / "data", self._file.parent)

    def account(self, record: Json, before: Mapping[str, float]) -> None:
        del before
        size = sum(path.stat().st_size for path in self._file.parent.iterdir())
        record["figures"]["database_bytes"] = figure(size, "bytes", method="kernel-accounting")

    def remove(self) -> None:
        self._place.remove()


class PostgresBench(Bench):
    """A server of our own."""

    def __init__(self, order: Order, binary: Binary, target: Target) -> None:
        self.name = target.name
        self._order = order
        self._targets = {"data": target}
        for role in ("wal", "temp", "index"):
            if getattr(order, role):
                self._targets[role] = target_of(binary, getattr(order, role))
        for one in self._targets.values():
            clean(one.folder)
        self._layout = Layout(**{role: one.folder for role, one in self._targets.items()})
        binaries = find(order.pg_bin)
        facts = binary.document("facts", "--on", str(target.folder))
        settings = tuned(
            binaries,
            hardware(facts),
            connections=order.terminals + 10,
            freeze_costs=order.freeze_costs,
            shared_buffers=order.buffers,
        )
        settings = settings.with_values(parse(list(order.pg_settings)))
        self._settings = type(settings)(settings.values, order.port)
        self._cluster = Cluster.create(binaries, self._layout)
        self._server = Server(self._cluster, self._settings)

    def store(self) -> Json:
        connection = self._server.connection_string if self._server.running else ""
        options: Json = {"connection": connection, "isolation": self._order.isolation}
        if "index" in self._targets:
            options["index_tablespace"] = TABLESPACES["index"]
        return {"postgres": options}

    def sites(self) -> list[Json]:
        return [_site(role, one, self._cluster.folder(role)) for role, one in self._targets.items()]

    def snapshot(self) -> Snapshot | None:
        """A second cluster on the same targets, never started."""
        self._server.stop()
        return Cluster.copy_of(self._cluster, self._layout)

    def restore(self, snapshot: Snapshot) -> None:
        if isinstance(snapshot, Cluster):
            self._server.stop()
            self._cluster.restore(snapshot)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        if self._server.running:
            yield
            return
        with self._server:
            yield

    @contextlib.contextmanager
    def explained(self) -> Iterator[None]:
        try:
            yield
        except PostgresError:
            raise
        except Exception as error:
            if self._server.wait_ended(1.0):
                raise self._server.ended("the server ended in the middle of the run") from error
            raise

    def server_pid(self) -> int | None:
        return self._server.pid if self._server.running else None

    def engine_counts(self) -> Mapping[str, float]:
        with self._server.connect() as connection:
            return statistics.counts(connection)

    def account(self, record: Json, before: Mapping[str, float]) -> None:
        with self._server.connect() as connection:
            after = statistics.counts(connection)
            record["subject"]["settings"] |= statistics.shown(connection, WATCHED)
        record["subject"]["settings"]["binaries"] = str(self._cluster.binaries.source)
        for name, count in after.items():
            unit = "bytes" if name.endswith("_bytes") else "count"
            # From before the ramp-up to after the checks.
            record["figures"][f"engine_{name.removeprefix('engine_')}"] = figure(
                count - before.get(name, 0.0), unit, method="kernel-accounting" if unit == "bytes" else "loop"
            )

    def remove(self) -> None:
        self._server.kill()
        self._cluster.remove()


class ExternalBench(Bench):
    """A server that somebody else runs. It is driven, and left as it was but for the schema `assay_tpcc`."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._external = External(order.connect, order.external)
        if order.repeats > 1:
            raise PostgresError("a server that Assay did not start cannot be restored", hint="leave --repeats out")
        self.name = "an external server"
        with self._external.connect():
            pass

    def store(self) -> Json:
        return {"postgres": {"connection": self._order.connect, "isolation": self._order.isolation}}

    def sites(self) -> list[Json]:
        return []

    def restore(self, snapshot: Snapshot) -> None:
        del snapshot  # None is ever taken.
        raise PostgresError("a server that Assay did not start cannot be restored", hint="leave --repeats out")

    def account(self, record: Json, before: Mapping[str, float]) -> None:
        del before
        with self._external.connect() as connection:
            record["subject"]["settings"] |= statistics.shown(connection, WATCHED)

    def remove(self) -> None:
        with self._external.connect() as connection:
            connection.execute("drop schema if exists assay_tpcc cascade")


def _site(role: str, target: Target, path: Path) -> Json:
    return {"role": role, "target": target.name, "path": str(path), "emulated": target.in_memory}
