"""Servers that TPC-C is driven on: PostgreSQL of our own, and one that somebody else runs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

from assay.binary import Binary
from assay.dbms.place import clean
from assay.dbms.postgres import Cluster, External, Layout, PostgresError, PostgresServer, find, statistics, tuned
from assay.dbms.postgres.cluster import TABLESPACES
from assay.dbms.postgres.settings import WATCHED, hardware, parse
from assay.dbms.target import DatabaseTarget, target_of
from assay.dbms.tpcc.bench import Bench, ServerSnapshot, site
from assay.dbms.tpcc.order import TpccFlags
from assay.record import WorkRecord
from assay.study.work import figure
from assay.untyped import Json


class PostgresBench(Bench):
    """A server of our own."""

    def __init__(self, order: TpccFlags, binary: Binary, target: DatabaseTarget) -> None:
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
        self._server = PostgresServer(self._cluster, self._settings)

    def store(self) -> Json:
        connection = self._server.connection_string if self._server.running else ""
        options: Json = {"connection": connection, "isolation": self._order.isolation}
        if "index" in self._targets:
            options["index_tablespace"] = TABLESPACES["index"]
        return {"postgres": options}

    def sites(self) -> list[Json]:
        return [site(role, one, self._cluster.folder(role)) for role, one in self._targets.items()]

    def snapshot(self) -> ServerSnapshot | None:
        """A second cluster on the same targets, never started."""
        self._server.stop()
        return Cluster.copy_of(self._cluster, self._layout)

    def restore(self, snapshot: ServerSnapshot) -> None:
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

    def listens(self) -> str:
        return self._server.listens if self._server.running and self._order.port is not None else ""

    def server_pid(self) -> int | None:
        return self._server.pid if self._server.running else None

    def engine_counts(self) -> Mapping[str, float]:
        with self._server.connect() as connection:
            return statistics.counts(connection)

    def account(self, record: WorkRecord, before: Mapping[str, float]) -> None:
        with self._server.connect() as connection:
            after = statistics.counts(connection)
            record["subject"]["settings"] |= statistics.shown(connection, WATCHED)
            if methods := statistics.io_methods(connection):
                record["subject"]["settings"]["io_methods_of_the_build"] = ", ".join(methods)
        record["subject"]["settings"]["binaries"] = str(self._cluster.binaries.source)
        for role, size in self._cluster.bytes_by_role().items():
            record["figures"][f"{role}_bytes"] = figure(size, "bytes", method="kernel-accounting")
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

    def __init__(self, order: TpccFlags) -> None:
        self._order = order
        self._external = External(order.connect, order.external)
        self.name = "an external server"
        with self._external.connect():
            pass

    def store(self) -> Json:
        return {"postgres": {"connection": self._external.connection_string, "isolation": self._order.isolation}}

    def sites(self) -> list[Json]:
        return []

    def restore(self, snapshot: ServerSnapshot) -> None:
        del snapshot  # None is ever taken.
        raise PostgresError("a server that Assay did not start cannot be restored", hint="leave --repeats out")

    def account(self, record: WorkRecord, before: Mapping[str, float]) -> None:
        del before
        with self._external.connect() as connection:
            record["subject"]["settings"] |= statistics.shown(connection, WATCHED)

    def remove(self) -> None:
        with self._external.connect() as connection:
            connection.execute("drop schema if exists assay_tpcc cascade")
